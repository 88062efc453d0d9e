package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges/forgetest"
)

// fakes are the forges of the scripts that run, by their directory.
type fakes struct{ byDir sync.Map }

// world is the fake forge of one script.
type world struct {
	forge *forgetest.Forge
	repo  *forgetest.Repo
	pulls map[int]*forgetest.Pull
}

// command drives the fake forge of a script.
//
//	forge start                    a forge with the repository acme/infra
//	forge push BRANCH DIR USER     commits the files of DIR on a branch
//	forge open USER HEAD TITLE     opens a pull request into main, number in PR
//	forge review N USER EVENT      submits a review
//	forge merge N USER             merges, the commit in MERGE
//	forge check SHA NAME STATE CONCLUSION
//	forge note N TEXT              wants a comment that contains TEXT
//	forge status SHA CONTEXT STATE wants a status
//	forge forbid METHOD PATH       answers such calls with 403 from now on
func (all *fakes) command(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: forge verb ...")
	}
	if args[0] == "start" {
		all.start(ts)
		return
	}
	found, ok := all.byDir.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("forge start comes first")
	}
	w := found.(*world)
	switch verb, args := args[0], args[1:]; verb {
	case "push":
		w.push(ts, args[0], args[1], args[2])
	case "open":
		p, err := w.repo.OpenPullRequest(w.forge.User(args[0]), args[1], "main", args[2])
		ts.Check(err)
		w.pulls[p.Number] = p
		ts.Setenv("PR", strconv.Itoa(p.Number))
	case "review":
		_, err := w.forge.As(w.forge.User(args[1])).Review(w.pull(ts, args[0]), args[2], "")
		ts.Check(err)
	case "merge":
		sha, err := w.pull(ts, args[0]).Merge("merge", w.forge.User(args[1]))
		ts.Check(err)
		ts.Setenv("MERGE", sha)
	case "check":
		_, err := w.repo.SetCheck(args[0], args[1], args[2], args[3])
		ts.Check(err)
	case "forbid":
		w.forge.Faults.Fail(forgetest.Match{Method: args[0], Path: args[1]}, http.StatusForbidden, 0)
	case "note":
		number, err := strconv.Atoi(args[0])
		ts.Check(err)
		if _, err := w.repo.CommentWith(number, args[1]); (err != nil) != neg {
			ts.Fatalf("comments of #%d containing %q: %v", number, args[1], err)
		}
	case "status":
		if s := w.repo.Status(args[0], args[1]); s.State != args[2] {
			ts.Fatalf("status %s of %s is %q (%s), want %q", args[1], args[0], s.State, s.Description, args[2])
		}
	default:
		ts.Fatalf("forge %s is unknown", verb)
	}
}

// start starts the fake, and says in the environment what a CI job says.
func (all *fakes) start(ts *testscript.TestScript) {
	f, err := forgetest.NewGitHub(forgetest.Options{})
	ts.Check(err)
	ts.Defer(func() {
		all.byDir.Delete(ts.Getenv("WORK"))
		_ = f.Close()
	})
	repo, err := f.CreateRepo("acme", "infra")
	ts.Check(err)
	bot := f.User("robot")
	for _, user := range []*forgetest.User{bot, f.User("alice"), f.User("bob")} {
		repo.SetPermission(user, "write")
	}
	all.byDir.Store(ts.Getenv("WORK"), &world{forge: f, repo: repo, pulls: map[int]*forgetest.Pull{}})
	remote, err := url.Parse(repo.GitURL())
	ts.Check(err)
	remote.User = url.UserPassword("x-access-token", f.Token(bot))
	principal := engine.Instance{Kind: engine.GitHub, Host: remote.Host}.Principal
	for name, value := range map[string]string{
		"ALICE": principal("alice"), "BOB": principal("bob"), "MALLORY": principal(f.User("mallory").Login),
		"GITHUB_REPOSITORY": "acme/infra", "GITHUB_API_URL": f.APIURL(), "GITHUB_SERVER_URL": f.URL(),
		"CHANT_FORGE_TOKEN": f.Token(bot), "REMOTE": remote.String(),
	} {
		ts.Setenv(name, value)
	}
}

func (w *world) pull(ts *testscript.TestScript, number string) *forgetest.Pull {
	n, err := strconv.Atoi(number)
	ts.Check(err)
	p := w.pulls[n]
	if p == nil {
		ts.Fatalf("there is no #%d", n)
	}
	return p
}

// push commits every file of a directory as one person.
func (w *world) push(ts *testscript.TestScript, branch, dir, user string) {
	files := map[string]string{}
	ts.Check(walkFiles(ts.MkAbs(dir), func(name, text string) { files[name] = text }))
	if len(files) == 0 {
		ts.Fatalf("no files in %s", dir)
	}
	sha, err := w.repo.Commit(branch, files, w.forge.User(user))
	ts.Check(err)
	ts.Setenv("PUSHED", sha)
}

func walkFiles(dir string, each func(name, text string)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := walkFiles(dir+"/"+e.Name(), func(name, text string) { each(e.Name()+"/"+name, text) }); err != nil {
				return err
			}
			continue
		}
		text, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			return fmt.Errorf("reading %s: %w", e.Name(), err)
		}
		each(e.Name(), string(text))
	}
	return nil
}
