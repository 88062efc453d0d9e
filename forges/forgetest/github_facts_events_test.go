package forgetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestManyTagsInOnePushSendNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := Must(w.repo.Head("main"))
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"a", "b", "c"}, "push,create,push,create,push,create"},
		{[]string{"d", "e", "f", "g"}, ""},
	} {
		w.box.clear()
		if err := w.repo.CreateTags(w.alice, sha, c.names...); err != nil {
			t.Fatal(err)
		}
		quiet(t, w.Forge)
		if got := strings.Join(w.box.events(), ","); got != c.want {
			t.Errorf("%v sent %q", c.names, got)
		}
	}
	w.box.clear()
	if err := w.repo.DeleteTags(w.alice, "a", "b", "c", "d"); err != nil {
		t.Fatal(err)
	}
	quiet(t, w.Forge)
	if got := w.box.events(); len(got) != 0 {
		t.Errorf("deleting four sent %v", got)
	}
}

func TestAnAnnotatedTagsPushNamesTheTagObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := Must(w.repo.Head("main"))
	if err := w.repo.CreateAnnotatedTag(w.alice, sha, "ci/green/"+sha, "all green"); err != nil {
		t.Fatal(err)
	}
	quiet(t, w.Forge)
	tags := Must(w.repo.Tags())
	var push struct {
		After      string `json:"after"`
		Ref        string `json:"ref"`
		HeadCommit struct {
			ID string `json:"id"`
		} `json:"head_commit"`
	}
	if err := json.Unmarshal([]byte(w.box.got[0].body), &push); err != nil {
		t.Fatal(err)
	}
	if len(tags) != 1 || !tags[0].Annotated || tags[0].Commit != sha || push.After != tags[0].Object || push.HeadCommit.ID != sha || push.Ref != "refs/tags/ci/green/"+sha {
		t.Fatalf("%+v %+v", tags, push)
	}
}

func TestChecksOfAForksHeadNameNoPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.pull(t, "topic")
	mallory := w.User("mallory")
	fork := Must(w.repo.Fork(mallory))
	head := Must(fork.Commit("topic", map[string]string{"x": "x"}, mallory))
	Must(w.repo.OpenFromFork(mallory, fork, "topic", "main", "From a fork"))
	quiet(t, w.Forge)
	for sha, want := range map[string]string{head: `"pull_requests":[]`, own.Head(): `"pull_requests":[{`} {
		w.box.clear()
		Must(w.repo.SetCheck(sha, "unit", "completed", "success"))
		quiet(t, w.Forge)
		if got := strings.Join(w.box.events(), ","); got != "check_run created,check_run completed,check_suite completed" {
			t.Errorf("events %q", got)
		}
		if !strings.Contains(w.box.got[0].body, want) {
			t.Errorf("%s: %s", want, w.box.got[0].body)
		}
	}
}

func TestAMergeQueueGroupListsNoPullRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	quiet(t, w.Forge)
	w.box.clear()
	head := Must(w.repo.QueueGroup(w.bob, p))
	quiet(t, w.Forge)
	if got := strings.Join(w.box.events(), ","); got != "merge_group checks_requested,push,create" {
		t.Fatalf("events %q", got)
	}
	if body := w.box.got[0].body; !strings.Contains(body, head) || strings.Contains(body, "pull_request") && strings.Contains(body, `"number"`) {
		t.Fatalf("%s", body)
	}
}

func TestDeliveriesAreSignedAndKeepTheirGUIDWhenSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	Must(w.As(w.bob).Comment(w.pull(t, "topic"), "hi"))
	quiet(t, w.Forge)
	last := w.box.got[len(w.box.got)-1]
	mac := hmac.New(sha256.New, []byte("whs"))
	mac.Write([]byte(last.body))
	if got := last.header.Get("X-Hub-Signature-256"); got != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		t.Fatalf("signature %q", got)
	}
	if !strings.Contains(last.body, fmt.Sprintf(`"installation":{"id":%d`, w.in.ID)) || !strings.HasPrefix(last.header.Get("User-Agent"), "GitHub-Hookshot/") {
		t.Fatalf("delivery %v", last.header)
	}
	app := w.jwt(t, -time.Minute, time.Minute)
	_, _, data := w.raw(t, app, "GET", "app/hook/deliveries?per_page=1", nil)
	var list []struct {
		ID         int64  `json:"id"`
		GUID       string `json:"guid"`
		Redelivery bool   `json:"redelivery"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list) != 1 || list[0].GUID != last.header.Get("X-Github-Delivery") {
		t.Fatalf("%s %v", data, err)
	}
	if status, _, _ := w.raw(t, app, "POST", fmt.Sprintf("app/hook/deliveries/%d/attempts", list[0].ID), nil); status != 202 {
		t.Fatalf("redelivering: %d", status)
	}
	quiet(t, w.Forge)
	again := w.box.got[len(w.box.got)-1]
	if again.header.Get("X-Github-Delivery") != list[0].GUID || again.body != last.body {
		t.Fatal("the second delivery is another one")
	}
	first := list[0].ID
	_, _, data = w.raw(t, app, "GET", "app/hook/deliveries", nil)
	if err := json.Unmarshal(data, &list); err != nil || !list[0].Redelivery || list[0].ID == first {
		t.Fatalf("%s %v", data, err)
	}
}

func TestDeliveryFaultsLoseDoubleAndReorder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	quiet(t, w.Forge)
	comment := func(n int) string {
		w.box.clear()
		for i := range n {
			Must(w.As(w.bob).Comment(p, fmt.Sprint("number ", i)))
		}
		quiet(t, w.Forge)
		var seen []string
		for _, r := range w.box.got {
			_, rest, _ := strings.Cut(r.body, `"body":"number `)
			seen = append(seen, rest[:1])
		}
		return strings.Join(seen, "")
	}
	w.Faults.DropDeliveries("issue_comment", 1)
	if got := comment(2); got != "1" {
		t.Errorf("lost one: %q", got)
	}
	w.Faults.DuplicateDeliveries("issue_comment", 1)
	if got := comment(2); got != "001" {
		t.Errorf("doubled one: %q", got)
	}
	w.Faults.ReorderDeliveries(3)
	if got := comment(4); got != "2103" {
		t.Errorf("reordered: %q", got)
	}
}

func TestAPermissionNotGrantedIsAnEventNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.in.SetPermissions(map[string]string{"metadata": "read", "pull_requests": "read"})
	quiet(t, w.Forge)
	w.box.clear()
	p := w.pull(t, "topic")
	Must(w.As(w.bob).Comment(p, "hi"))
	quiet(t, w.Forge)
	if got := strings.Join(w.box.events(), ","); got != "pull_request opened" {
		t.Fatalf("events %q", got)
	}
}

func TestGitIsRefusedWithoutAWriteTokenAndFollowsARename(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.User("reader")
	w.repo.SetPermission(reader, "read")
	dir := filepath.Join(t.TempDir(), "clone")
	old := w.repo.GitURL()
	w.repo.Rename("platform")
	git(t, t.TempDir(), "clone", "--quiet", withToken(old, w.Token(reader)), dir)
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "x")
	for _, token := range []string{w.Token(reader), "wrong"} {
		if err := gitErr(dir, "push", withToken(w.repo.GitURL(), token), "HEAD:main"); err == nil {
			t.Error("a push was taken")
		}
	}
	git(t, dir, "push", "--quiet", withToken(w.repo.GitURL(), w.token(t, nil)), "HEAD:refs/heads/bot")
	quiet(t, w.Forge)
	if !strings.Contains(w.box.got[len(w.box.got)-1].body, `"login":"chant[bot]"`) {
		t.Error("the push is not the bot's")
	}
	if err := gitErr(dir, "push", withToken(w.repo.GitURL(), w.token(t, nil)), "HEAD:refs/pull/9/head"); err == nil {
		t.Error("refs/pull took a push")
	}
}

func TestAPushThatCarriesTheHeadMerges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	if err := w.repo.ForcePush("main", p.Head(), w.bob); err != nil {
		t.Fatal(err)
	}
	if !p.Merged() || p.MergeCommit() != p.Head() {
		t.Fatalf("merged %v as %s", p.Merged(), p.MergeCommit())
	}
	quiet(t, w.Forge)
	if !slices.Contains(w.box.events(), "pull_request closed") {
		t.Fatalf("events %v", w.box.events())
	}
}

func TestHeldRequestsGoOnWhenReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.Faults.Hold(Match{Method: "GET", Path: "/repos/acme/infra"})
	token := w.token(t, nil)
	done := make(chan int)
	before := w.Count("GET", "/")
	go func() {
		status, _, _ := w.ask(t, token, "GET", "repos/acme/infra", nil)
		done <- status
	}()
	for w.Count("GET", "/") == before {
		runtime.Gosched()
	}
	select {
	case status := <-done:
		t.Fatalf("answered %d while held", status)
	default:
	}
	release()
	if status := <-done; status != 200 {
		t.Fatalf("%d", status)
	}
}
