package forgetest

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const gitea = "Gitea"

// forgejos are the two servers that share a dialect.
func forgejos() map[string]func(Options) (*Forge, error) {
	return map[string]func(Options) (*Forge, error){"Forgejo": NewForgejo, gitea: NewGitea}
}

// newForgejo is a fake with one repository and two people.
func newForgejo(t *testing.T, start func(Options) (*Forge, error)) world {
	t.Helper()
	f := Must(start(Options{Dir: t.TempDir()}))
	t.Cleanup(func() { _ = f.Close() })
	w := world{Forge: f, alice: f.User("alice"), bob: f.User("bob"), box: newInbox(t)}
	w.repo = Must(f.CreateRepo("acme", "infra"))
	w.repo.SetPermission(w.alice, "write")
	w.repo.SetPermission(w.bob, "write")
	Must(w.repo.Commit("main", map[string]string{"a.tf": "a = 1\n"}, w.alice))
	f.Deliver(w.box.URL, "whs")
	quiet(t, f)
	return w
}

// kinds lists "type action" of what arrived, "type ref" where there is no
// action.
func (b *inbox) kinds(t *testing.T) []string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, r := range b.got {
		var body struct{ Action, Ref string }
		if err := json.Unmarshal([]byte(r.body), &body); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(r.header.Get("X-Gitea-Event-Type")+" "+body.Action+body.Ref))
	}
	return out
}

func TestDeliveriesOfForgejoAndGiteaCarryEveryFamilyOfHeadersAndSignatures(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, isGitea := newForgejo(t, start), name == gitea
			w.pull(t, "topic")
			quiet(t, w.Forge)
			last := w.box.got[len(w.box.got)-1]
			families := []string{"Gitea", "Gogs"}
			if !isGitea {
				families = append(families, "Forgejo")
			} else if last.header.Get("X-Forgejo-Event") != "" {
				t.Error("Gitea names itself Forgejo")
			}
			mac1, mac256 := hmac.New(sha1.New, []byte("whs")), hmac.New(sha256.New, []byte("whs"))
			mac1.Write([]byte(last.body))
			mac256.Write([]byte(last.body))
			want := hex.EncodeToString(mac256.Sum(nil))
			for _, family := range families {
				if got := last.header.Get("X-" + family + "-Signature"); got != want {
					t.Errorf("%s signs %q", family, got)
				}
			}
			if last.header.Get("X-Hub-Signature-256") != "sha256="+want || last.header.Get("X-Hub-Signature") != "sha1="+hex.EncodeToString(mac1.Sum(nil)) {
				t.Error("the hub's signatures differ")
			}
			guid := last.header.Get("X-Gitea-Delivery")
			for _, family := range append(families, "GitHub") {
				if last.header.Get("X-"+family+"-Event") != "pull_request" || last.header.Get("X-"+family+"-Delivery") != guid || guid == "" {
					t.Errorf("%s: %v", family, last.header)
				}
			}
		})
	}
}

func TestWithoutASecretTheSignaturesAreThereAndEmpty(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgejo(t, start)
			w.Deliver(w.box.URL, "")
			w.pull(t, "topic")
			quiet(t, w.Forge)
			last := w.box.got[len(w.box.got)-1].header
			if got, ok := last["X-Gitea-Signature"]; !ok || got[0] != "" || last.Get("X-Hub-Signature") != "sha1=" || last.Get("X-Hub-Signature-256") != "sha256=" {
				t.Fatalf("%v", last)
			}
		})
	}
}

// walk makes every event that was recorded and that the fake knows.
func (w world) walk(t *testing.T) *Pull {
	t.Helper()
	Must(w.repo.Commit("topic", map[string]string{"topic.tf": "b = 2\n"}, w.alice))
	p := Must(w.repo.OpenDraft(w.alice, "topic", "main", "Change topic"))
	p.SetDraft(false, w.alice)
	Must(p.Push(map[string]string{"c.tf": "c = 3\n"}, w.alice))
	comment := Must(w.As(w.bob).Comment(p, "bot apply"))
	check(t, w.As(w.bob).EditComment(comment, "bot plan"))
	check(t, w.As(w.bob).DeleteComment(comment))
	p.RequestReview(w.bob, w.alice)
	Must(w.As(w.bob).Review(p, "REQUEST_CHANGES", "no"))
	review := Must(w.As(w.bob).Review(p, "APPROVE", "yes"))
	check(t, w.As(w.alice).Dismiss(review))
	check(t, p.Close(w.alice))
	check(t, p.Reopen(w.alice))
	sha := Must(p.Merge("merge", w.bob))
	check(t, w.repo.CreateAnnotatedTag(w.alice, sha, "v1.0.0", "one"))
	check(t, w.repo.CreateTags(w.alice, sha, "light"))
	check(t, w.repo.DeleteTags(w.alice, "light"))
	check(t, w.repo.DeleteBranch("topic", w.alice))
	quiet(t, w.Forge)
	return p
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEventsOfForgejoAndGiteaComeInTheirOrderAndWords(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, isGitea := newForgejo(t, start), name == gitea
			w.box.clear()
			w.walk(t)
			full := func(kind, name string) string {
				if isGitea {
					return name
				}
				return "refs/" + kind + "/" + name
			}
			want := []string{
				"create " + full("heads", "topic"), "push refs/heads/topic",
				"pull_request opened", "pull_request edited",
				"push refs/heads/topic", "pull_request_sync synchronized",
				"pull_request_comment created", "pull_request_comment edited", "pull_request_comment deleted",
				"pull_request_review_request review_requested",
				"pull_request_review_rejected reviewed", "pull_request_review_approved reviewed", // and nothing of the dismissal
				"pull_request closed", "pull_request reopened", "pull_request closed", "push refs/heads/main",
				"push refs/tags/v1.0.0", "create " + full("tags", "v1.0.0"),
				"push refs/tags/light", "create " + full("tags", "light"),
				"push refs/tags/light", "delete " + full("tags", "light"),
				"delete " + full("heads", "topic"),
			}
			if diff := cmp.Diff(want, w.box.kinds(t)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestOnlyGiteaTellsOfAStatus(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, isGitea := newForgejo(t, start), name == gitea
			w.box.clear()
			Must(w.repo.SetCheck(Must(w.repo.Head("main")), "unit", "completed", "success"))
			quiet(t, w.Forge)
			if got := strings.Join(w.box.kinds(t), ","); got != map[bool]string{true: "status"}[isGitea] {
				t.Fatalf("%q", got)
			}
		})
	}
}

func TestOnceMergedTheBaseIsAtTheMerge(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgejo(t, start)
			p := w.walk(t)
			_, _, shown := w.ask(t, w.Token(w.bob), "GET", "repos/acme/infra/pulls/1", nil)
			base, _ := shown["base"].(map[string]any)
			if shown["merged"] != true || shown["merge_commit_sha"] != p.MergeCommit() || base["sha"] != p.MergeCommit() {
				t.Fatalf("%v", shown)
			}
		})
	}
}

func TestAFormerNameRedirectsByTheServersOwnStatus(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, isGitea := newForgejo(t, start), name == gitea
			w.repo.Rename("platform")
			want := map[bool]int{true: http.StatusMovedPermanently, false: http.StatusTemporaryRedirect}[isGitea]
			for _, method := range []string{"GET", "POST"} {
				status, header, _ := w.ask(t, w.Token(w.bob), method, "repos/acme/infra/issues/1/comments?x=1", nil)
				if status != want || header.Get("Location") != "/api/v1/repos/acme/platform/issues/1/comments?x=1" {
					t.Errorf("%s: %d %v", method, status, header)
				}
			}
		})
	}
}

func TestAListSaysItsLengthAndLinksOnlyToMore(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgejo(t, start)
			sha := Must(w.repo.Head("main"))
			for i := range 60 {
				Must(w.repo.SetCheck(sha, fmt.Sprint("unit ", i), "completed", "success"))
			}
			token := w.Token(w.bob)
			status, header, body := w.raw(t, token, "GET", "repos/acme/infra/commits/"+sha+"/statuses?limit=100", nil)
			var list []any
			check(t, json.Unmarshal(body, &list))
			if status != 200 || len(list) != 50 || header.Get("X-Total-Count") != "60" || !strings.Contains(header.Get("Link"), `rel="next"`) || header.Get("ETag") != "" {
				t.Fatalf("%d: %d of %s, %q", status, len(list), header.Get("X-Total-Count"), header.Get("Link"))
			}
			_, header, _ = w.raw(t, token, "GET", "repos/acme/infra/pulls", nil)
			if header.Get("X-Total-Count") != "0" || header.Get("Link") != "" {
				t.Fatalf("an empty list: %v", header)
			}
		})
	}
}

func TestWhatTheServersTakeAndRefuse(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgejo(t, start)
			p := w.pull(t, "topic")
			comment := Must(w.As(w.bob).Comment(p, "hi"))
			inline := Must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "hi"))
			reactions := fmt.Sprintf("repos/acme/infra/issues/comments/%d/reactions", comment.ID)
			for _, try := range []struct {
				as           *User
				method, path string
				body         any
				want         int
			}{
				{w.bob, "POST", "repos/acme/infra/statuses/" + p.Head(), object{"state": "purple", "description": strings.Repeat("x", 999)}, 201},
				{w.bob, "POST", "repos/acme/infra/statuses/" + zeroSHA, object{"state": "success"}, 500},
				{w.User("erin"), "GET", "repos/acme/infra", nil, 404},
				{w.bob, "POST", reactions, object{"content": "eyes"}, 201},
				{w.bob, "POST", reactions, object{"content": "eyes"}, 200},
				{w.bob, "POST", reactions, object{"content": "party"}, 403},
				{w.bob, "GET", fmt.Sprint("repos/acme/infra/issues/comments/", inline.ID), nil, 204},
				{w.bob, "GET", "repos/acme/infra/issues/99/comments", nil, 500},
				{w.bob, "GET", "repos/acme/infra/commits/" + p.Head() + "/pull", nil, 404},
				{w.bob, "GET", "repos/acme/infra/collaborators/alice/permission", nil, 403},
				{w.bob, "GET", "repos/acme/infra/collaborators/bob/permission", nil, 200},
				{w.bob, "GET", "repositories/" + fmt.Sprint(w.repo.ID), nil, 200},
				{w.bob, "GET", "repositories/" + fmt.Sprint(w.repo.ID) + "/pulls", nil, 404},
			} {
				if status, _, answer := w.ask(t, w.Token(try.as), try.method, try.path, try.body); status != try.want {
					t.Errorf("%s %s: %d %v, want %d", try.method, try.path, status, answer, try.want)
				}
			}
			if _, err := w.As(w.bob).CommitComment(w.repo, p.Head(), "hi"); err == nil {
				t.Error("a commit took a comment")
			}
		})
	}
}

func TestATokenMayNoMoreThanItsScopes(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgejo(t, start)
			p := w.pull(t, "topic")
			token := w.ScopedToken(w.bob, "write:repository", "read:issue")
			for path, want := range map[string]int{
				"GET user": 403, "GET repos/acme/infra/pulls/1": 200, "GET repos/acme/infra/issues/1/comments": 200,
				"POST repos/acme/infra/issues/1/comments": 403, "POST repos/acme/infra/statuses/" + p.Head(): 201, "GET orgs/acme/teams": 403,
			} {
				method, path, _ := strings.Cut(path, " ")
				if status, _, answer := w.ask(t, token, method, path, object{"body": "x", "state": "success"}); status != want {
					t.Errorf("%s %s: %d %v", method, path, status, answer)
				}
			}
		})
	}
}

func TestThePagesOfEveryDialectAreAtItsOwnAddresses(t *testing.T) {
	t.Parallel()
	for name, start := range forgejos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgejo(t, start)
			p := w.pull(t, "topic")
			client := http.Client{Timeout: time.Minute}
			resp, err := client.Get(p.URL())
			check(t, err)
			defer func() { _ = resp.Body.Close() }()
			if !strings.HasSuffix(p.URL(), "/acme/infra/pulls/1") || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d", p.URL(), resp.StatusCode)
			}
		})
	}
}
