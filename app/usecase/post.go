package usecase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Post is what was last said on one target.
type Post struct {
	Hash     string
	RemoteID int64 // the note's id on its forge, 0 for a status
}

// unanswered starts the hash of what was sent and never heard back of: it is on
// the forge or not, which is looked at before anything is said again.
const unanswered = "unanswered:"

func (p Post) unanswered() bool { return strings.HasPrefix(p.Hash, unanswered) }

// Posts remembers what was last said where, so that nothing is said twice.
type Posts interface {
	Post(ctx context.Context, repo engine.Repo, target string) (Post, bool, error)
	SavePost(ctx context.Context, repo engine.Repo, target string, p Post) error
}

// Poster says things on a forge, each once.
type Poster struct {
	Posts Posts
}

func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Status sets a commit status unless it is what was set last. A commit the
// forge does not know (a head pushed away, a fork's on some forges) is said
// once and is no failure (cases, atlantis 2601).
func (p *Poster) Status(ctx context.Context, site *Site, sha string, s forges.Status) error {
	s.Context = note.Context(s.Context)
	target := "status:" + sha + ":" + s.Context
	hash := hashOf(string(s.State), s.Description, s.TargetURL)
	last, found, err := p.Posts.Post(ctx, site.Repo, target)
	if err != nil || found && last.Hash == hash {
		return err
	}
	stands := false
	if last.unanswered() {
		if stands, err = statusStands(ctx, site, sha, s); err != nil {
			return err
		}
	}
	if stands {
		return p.Posts.SavePost(ctx, site.Repo, target, Post{Hash: hash})
	}
	if err := p.Posts.SavePost(ctx, site.Repo, target, Post{Hash: unanswered + hash}); err != nil {
		return err
	}
	err = site.Forge.SetStatus(ctx, site.Repo, sha, s)
	var rejected *forges.Rejected
	if err != nil && !errors.Is(err, forges.ErrNotFound) && !errors.As(err, &rejected) {
		return fmt.Errorf("setting status %s on %s: %w", s.Context, short(sha), err)
	}
	return p.Posts.SavePost(ctx, site.Repo, target, Post{Hash: hash})
}

// statusStands tells whether a status is the one that stands on the forge.
func statusStands(ctx context.Context, site *Site, sha string, s forges.Status) (bool, error) {
	standing, err := site.Forge.Status(ctx, site.Repo, sha, s.Context)
	if errors.Is(err, forges.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading status %s on %s: %w", s.Context, short(sha), err)
	}
	return standing.State == s.State && standing.Description == s.Description && standing.TargetURL == s.TargetURL, nil
}

// Note writes the sticky note of a pull request: edited in place, found by its
// stored id first and its marker second. A body the forge refuses is replaced
// by the short one.
func (p *Poster) Note(ctx context.Context, site *Site, number int, marker string, in note.Input) error {
	target := fmt.Sprintf("note:%d:%s", number, marker)
	body := note.Render(in, note.Limit(site.Repo.Instance.Kind))
	hash := hashOf(body)
	last, found, err := p.Posts.Post(ctx, site.Repo, target)
	if err != nil || found && last.Hash == hash {
		return err
	}
	if last.unanswered() {
		last.RemoteID = 0 // look at what stands
	}
	if err := p.Posts.SavePost(ctx, site.Repo, target, Post{Hash: unanswered + hash, RemoteID: last.RemoteID}); err != nil {
		return err
	}
	id, err := p.write(ctx, site, number, marker, body, last.RemoteID)
	var rejected *forges.Rejected
	if errors.As(err, &rejected) {
		id, err = p.write(ctx, site, number, marker, note.Short(in, note.Limit(site.Repo.Instance.Kind)), last.RemoteID)
	}
	if err != nil {
		return fmt.Errorf("writing the note of #%d: %w", number, err)
	}
	return p.Posts.SavePost(ctx, site.Repo, target, Post{Hash: hash, RemoteID: id})
}

// write edits the note that stands, or makes one.
func (p *Poster) write(ctx context.Context, site *Site, number int, marker, body string, id int64) (int64, error) {
	if id == 0 {
		standing, err := site.Forge.FindNote(ctx, site.Repo, number, marker)
		switch {
		case err == nil && standing.Body == body:
			return standing.ID, nil
		case err == nil:
			id = standing.ID
		case !errors.Is(err, forges.ErrNotFound):
			return 0, err
		}
	}
	if id != 0 {
		_, err := site.Forge.EditNote(ctx, site.Repo, number, id, body)
		if err == nil || !errors.Is(err, forges.ErrNotFound) {
			return id, err
		}
	}
	made, err := site.Forge.CreateNote(ctx, site.Repo, number, body)
	return made.ID, err
}
