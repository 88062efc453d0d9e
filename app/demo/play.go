package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/chant-bot/chant/forges/forgetest"
)

// Options of a demo.
type Options struct {
	Program   string // the chant binary whose `serve` is started
	Terraform string // terraform or tofu
	Out       io.Writer
	Composed  bool // plays changes that reach their readers instead of the plain loop
	Keep      bool // leave the server and its pages up until ctx ends
}

// play is one run of the demo.
type play struct {
	*World
	Options
	listen string
	step   int
	exited chan error
}

// script is an example and what is played with it.
type script struct {
	example Example
	opening string
	scenes  []func(context.Context) error
	end     string
}

func (p *play) script() script {
	if p.Composed {
		return p.composed()
	}
	return p.loop()
}

// Play starts `chant serve` against a fake GitHub on loopback, plays a script with
// real deliveries, and returns nil only if terraform's own state holds each result.
func Play(ctx context.Context, o Options) error {
	dir, err := os.MkdirTemp("", "chant-demo-")
	if err != nil {
		return fmt.Errorf("making the demo's directory: %w", err)
	}
	defer os.RemoveAll(dir)
	p := &play{Options: o, exited: make(chan error, 1)}
	played := p.script()
	p.say("%s", played.opening)
	if p.World, err = New(ctx, dir, o.Terraform, played.example); err != nil {
		return err
	}
	defer func() { _ = p.World.Close() }() // of a directory that is about to go
	stop, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(fmt.Errorf("the server ended: %w", <-p.exited)) }()
	for _, scene := range played.scenes {
		if err := scene(ctx); err != nil {
			return p.explain(ctx, err)
		}
	}
	p.say("%s", played.end)
	if o.Keep {
		p.say("The pages stay up at http://%s/ until you press Ctrl-C", p.listen)
		<-ctx.Done()
	}
	return nil
}

func (p *play) say(format string, args ...any) {
	p.step++
	fmt.Fprintf(p.Out, "%2d. %s\n", p.step, fmt.Sprintf(format, args...))
}

// explain adds the server's last words to an error.
func (p *play) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	if log, readErr := os.ReadFile(p.logPath()); readErr == nil {
		fmt.Fprintf(p.Out, "the server's log ends:\n%s\n", log[max(0, len(log)-4000):])
	}
	return err
}

func (p *play) logPath() string { return filepath.Join(p.Dir, "server.log") }

// serve starts the server as its own process and waits until it is ready.
func (p *play) serve(ctx context.Context) (stop func(), err error) {
	if p.listen, err = freeAddress(); err != nil {
		return nil, err
	}
	path, err := p.Config(p.listen)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(p.logPath())
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.Program, "serve", "--config", path)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := cmd.Wait()
		if err == nil {
			err = fmt.Errorf("exit 0")
		}
		p.exited <- err
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(40 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = log.Close()
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = Await(ready, "the server", func() (bool, error) {
		select {
		case <-ended:
			return false, fmt.Errorf("it ended: %w", <-p.exited)
		default:
		}
		resp, err := http.Get("http://" + p.listen + "/readyz")
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		stop()
		text, _ := os.ReadFile(p.logPath())
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	p.App.Deliver("http://"+p.listen+"/webhooks/github", p.Secret)
	p.say("`chant serve` listens on http://%s, with a GitHub App's key against a GitHub on this machine, and in this demo alone without a wall around plans", p.listen)
	return stop, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// check compares terraform's own state.
func (p *play) check(root, resource, want string) error {
	got, err := p.Applied(root, resource)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("terraform's state of %s holds %q, want %q", root, got, want)
	}
	p.say("terraform's state of %s holds %q", root, got)
	return nil
}

// edits are texts to replace, a file each, and by what.
type edits map[string][2]string

func mainOf(root string) string { return "roots/" + root + "/main.tf" }

// propose opens a pull request of bob's.
func (p *play) propose(branch string, changes edits) (*forgetest.Pull, error) {
	files := map[string]string{}
	for path, edit := range changes {
		text, err := p.Repo.ReadFile("main", path)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(text, edit[0]) {
			return nil, fmt.Errorf("%s has no %q to replace", path, edit[0])
		}
		files[path] = strings.ReplaceAll(text, edit[0], edit[1])
	}
	if _, err := p.Repo.Commit(branch, files, p.Bob); err != nil {
		return nil, err
	}
	return p.Repo.OpenPullRequest(p.Bob, branch, "main", "Change the roots")
}

// approvedAndMerged goes the way it is meant to go, up to the merge that is green.
func (p *play) approvedAndMerged(ctx context.Context, pr *forgetest.Pull) (merge string, err error) {
	line, err := p.approveLine(ctx, pr, "pr-")
	if err != nil {
		return "", err
	}
	p.say("chant plans it and writes the note, bound to a digest:")
	p.quote(pr)
	if _, err := p.Forge.As(p.Alice).Review(pr, "APPROVE", "Read it.\n\n"+line); err != nil {
		return "", err
	}
	p.say("alice reviews it and approves exactly that digest: %s", line)
	if err := p.awaitNote(ctx, pr, "Approved by"); err != nil {
		return "", err
	}
	if merge, err = pr.Merge("merge", p.Alice); err != nil {
		return "", err
	}
	p.say("alice merges as %s: nothing is deployed, the merge is recorded", merge[:12])
	if err := p.awaitStatus(ctx, pr.Head(), "pending", "green"); err != nil {
		return "", err
	}
	return merge, p.green(ctx, merge)
}

// green passes the required checks and waits for the tag.
func (p *play) green(ctx context.Context, sha string) error {
	for _, name := range []string{"lint", "unit"} {
		if _, err := p.Repo.SetCheck(sha, name, "completed", "success"); err != nil {
			return err
		}
	}
	err := Await(ctx, "the tag ci/green/"+sha, func() (bool, error) {
		tags, err := p.Repo.Tags()
		for _, t := range tags {
			if t.Name == "ci/green/"+sha {
				return true, nil
			}
		}
		return false, err
	})
	if err == nil {
		p.say("its checks pass, and chant tags it ci/green/%s…", sha[:12])
	}
	return err
}

var copyLine = regexp.MustCompile(`(?m)^chant approve \S+ \S+ --plan jcs1-sha256:[0-9a-f]{64}$`)

func (p *play) approveLine(ctx context.Context, pr *forgetest.Pull, op string) (string, error) {
	line := ""
	err := Await(ctx, "the note of #"+fmt.Sprint(pr.Number), func() (bool, error) {
		if s := p.Repo.Status(pr.Head(), "chant/plan"); s.State == "failure" {
			return false, fmt.Errorf("chant/plan failed: %s\n%s", s.Description, p.note(pr))
		}
		for _, l := range copyLine.FindAllString(p.note(pr), -1) {
			if strings.HasPrefix(l, "chant approve "+op) {
				line = l
			}
		}
		return line != "", nil
	})
	return line, err
}

func (p *play) note(pr *forgetest.Pull) string {
	for _, c := range p.Repo.Comments(pr.Number) {
		if strings.HasPrefix(c.Body, "<!-- chant-pr:") {
			return c.Body
		}
	}
	return ""
}

func (p *play) awaitNote(ctx context.Context, pr *forgetest.Pull, text string) error {
	err := Await(ctx, fmt.Sprintf("%q in the note of #%d", text, pr.Number), func() (bool, error) {
		return strings.Contains(p.note(pr), text), nil
	})
	if err != nil {
		err = fmt.Errorf("%w, which reads\n%s", err, p.note(pr))
	}
	return err
}

func (p *play) awaitStatus(ctx context.Context, sha, state, text string) error {
	return Await(ctx, fmt.Sprintf("chant/apply %s: %s", state, text), func() (bool, error) {
		s := p.Repo.Status(sha, "chant/apply")
		if s.State == "failure" && state != s.State {
			return false, fmt.Errorf("chant/apply failed: %s", s.Description)
		}
		return s.State == state && strings.Contains(s.Description, text), nil
	})
}

// shows says something of a pull request once its note holds a text, and quotes it.
func (p *play) shows(ctx context.Context, pr *forgetest.Pull, text, said string) error {
	if err := p.awaitNote(ctx, pr, text); err != nil {
		return err
	}
	p.say("%s", said)
	p.quote(pr)
	return nil
}

// quote prints a note as text. Of what is folded it names the parts, and shows why
// something was not planned with what it reads.
func (p *play) quote(pr *forgetest.Pull) {
	shown, folded := true, false
	for line := range strings.SplitSeq(p.note(pr), "\n") {
		switch title, opens := strings.CutPrefix(line, "<details><summary>"); {
		case opens:
			title = strings.TrimSuffix(title, "</summary>")
			shown, folded = strings.HasPrefix(title, "Planned by themselves"), true
			fmt.Fprintf(p.Out, "    | + %s\n", title)
		case line == "</details>":
			shown = false
		case shown && !strings.HasPrefix(line, "<") && (line != "" || !folded):
			fmt.Fprintf(p.Out, "    | %s\n", line)
		}
	}
}
