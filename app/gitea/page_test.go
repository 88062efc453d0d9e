//go:build e2e

package gitea_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"image/color"
	"image/png"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/forges/forgejo/giteatest"
)

// hostile is a title and a resource's key that try to become part of a page.
const hostile = `</code></td></table></details><img src=x onerror=alert(1)><script id=y>alert(2)</script>`

// The browser is one of somebody who is not logged in.
func TestANoteOnItsPageShowsItsTableAndNoMarkupOfOthers(t *testing.T) {
	w := newJourney(t)
	files := w.edits(appTF, `output "address"`, fmt.Sprintf("resource \"terraform_data\" \"hostile\" {\n  for_each = toset([%q])\n  input    = each.key\n}\n\noutput \"address\"", hostile))
	p := w.propose("hostile", hostile, files)
	w.status(p.head, "chant/plan", "success", "1 member, 1 to change")
	w.noted(p, "terraform_data.hostile")
	w.as(giteatest.Admin, "PATCH", "", object{"private": false}, nil)
	url := fmt.Sprintf("%s/%s/pulls/%d", w.api.URL, w.repo, p.number)
	w.shot(url, filepath.Join(w.t.ArtifactDir(), "note.png"))
	dom := w.chromium("--dump-dom", url)
	_, note, found := strings.Cut(dom, fmt.Sprintf(`id="issuecomment-%d"`, w.note(p).ID))
	if !found {
		w.t.Fatalf("the note is not on its page, %s", url)
	}
	note, _, _ = strings.Cut(note, `class="raw-content`) // what its author would edit
	_, table, _ := strings.Cut(note, "<table")
	if table, _, found = strings.Cut(table, "</table>"); !found || !strings.Contains(table, "member</th>") || !strings.Contains(table, "<code>app</code>") {
		w.t.Errorf("the note's table is not on its page: %s", note)
	}
	if seen := html.UnescapeString(tags.ReplaceAllString(note, "")); !strings.Contains(seen, hostile) {
		w.t.Errorf("the key of the resource is not on the page as it is: %s", seen)
	}
	for _, element := range []string{`<img src="x"`, `<script id="y"`} { // in a text there are no quotes
		if strings.Contains(dom, element) {
			w.t.Errorf("hostile text became %s", element)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// shot keeps a picture of a page, which must show something.
func (w journey) shot(url, path string) {
	w.t.Helper()
	w.chromium("--window-size=1280,2400", "--screenshot="+path, url)
	picture := must(png.Decode(bytes.NewReader(must(os.ReadFile(path))(w.t))))(w.t)
	seen := map[color.Color]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			seen[picture.At(x, y)] = true
		}
	}
	if len(seen) < 16 { // letters have many shades
		w.t.Errorf("the picture has %d colours: %s", len(seen), path)
	}
	w.t.Logf("picture: %s, %v, %d colours", path, picture.Bounds().Size(), len(seen))
}

func (w journey) chromium(args ...string) string {
	w.t.Helper()
	binary, err := osexec.LookPath("chromium")
	if err != nil {
		w.t.Fatal("no browser to look at pages with; install it with: apt-get install chromium")
	}
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars", "--user-data-dir=" + w.t.TempDir(),
	}, args...)
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := osexec.CommandContext(ctx, binary, args...)
	cmd.WaitDelay = time.Second // its children hold what it writes to
	return giteatest.Output(w.t, cmd)
}
