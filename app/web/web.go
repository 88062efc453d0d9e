// Package web renders the pages people look at from plain view structs. It
// serves its own assets and writes HTML; it looks nothing up, decides nothing
// and takes no action. Pages work without a script and load nothing from
// elsewhere; the one script there is follows a run that goes on.
// ContentSecurityPolicy forbids any other.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/comments/note"
)

// ContentSecurityPolicy is the header every page is to be sent with.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// AssetPrefix is where Assets is to be mounted.
const AssetPrefix = "/assets/"

//go:embed assets
var assets embed.FS

//go:embed templates
var templates embed.FS

// Pages renders every page. It is safe for concurrent use.
type Pages struct {
	set                *template.Template
	stylesheet, script string // their addresses
}

// New parses the templates; an error is a fault of the program.
func New() (*Pages, error) {
	p := &Pages{}
	for name, address := range map[string]*string{"chant.css": &p.stylesheet, "follow.js": &p.script} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		sum := sha256.Sum256(content)
		*address = AssetPrefix + name + "?v=" + hex.EncodeToString(sum[:])[:12]
	}
	var err error
	p.set, err = template.New("").Funcs(p.funcs()).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parsing the page templates: %w", err)
	}
	return p, nil
}

// Page is one of the view structs of this package.
type Page interface{ template() string }

// Render writes a whole page, or nothing and an error.
func (p *Pages) Render(w io.Writer, page Page) error {
	var b bytes.Buffer
	if err := p.set.ExecuteTemplate(&b, page.template(), page); err != nil {
		return fmt.Errorf("rendering the page %q: %w", page.template(), err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Assets serves the stylesheet and the script under AssetPrefix. The address in pages carries
// a hash of the content, so it may be kept for ever.
func Assets() http.Handler {
	files := http.FileServerFS(assets)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("v") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		files.ServeHTTP(w, r)
	})
}

func (p *Pages) funcs() template.FuncMap {
	return template.FuncMap{
		"stylesheet": func() string { return p.stylesheet },
		"script":     func() string { return p.script },
		"show":       note.Plain, // every foreign string goes through it
		"tone":       tone,
		"spoken":     spoken,
		"short":      short,
		"brief":      brief,
		"picture":    draw,
		"when":       func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"stamp":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":      func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"lasted":     func(from, to time.Time) string { return to.Sub(from).Round(time.Second).String() },
		"join":       func(names []string) string { return note.Plain(strings.Join(names, ", ")) },
		"mark":       mark,
	}
}

// tone is the class of a status word: what colour it has, never what it says.
func tone(status string) string {
	switch status {
	case "applied", "covered", "approved", "nothing", "no-changes", "handled", "counted":
		return "good"
	case "waiting", "held", "pending", "blocked", "uncovered", "changed", "queued":
		return "wait"
	case "failed", "plan-failed", "refused", "unknown", "revoked", "partial", "rejected":
		return "bad"
	case "running", "planning", "applying":
		return "busy"
	}
	return "idle"
}

// spoken is a status word as people say it.
func spoken(status string) string {
	if status == "held" {
		return "held back"
	}
	return note.Plain(strings.ReplaceAll(status, "-", " "))
}

// short cuts a commit or digest to what people compare by eye.
func short(s string) string {
	if i := strings.IndexByte(s, ':'); i >= 0 {
		s = s[i+1:]
	}
	if len(s) > 12 {
		s = s[:12]
	}
	return note.Plain(s)
}

// brief cuts an identifier to its first part.
func brief(s string) string {
	s, _, _ = strings.Cut(note.Plain(s), "-")
	return short(s)
}

// mark is the class of a line of a difference.
func mark(op changes.Op) string {
	switch op {
	case changes.Added:
		return "added"
	case changes.Removed:
		return "removed"
	case changes.Hidden:
		return "hidden"
	}
	return "same"
}
