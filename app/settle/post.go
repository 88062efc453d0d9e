package settle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
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
	// ClaimPost is SavePost where there is no post yet, and tells whether it was.
	ClaimPost(ctx context.Context, repo engine.Repo, target string, p Post) (bool, error)
}

// Poster says things on a forge, each once.
type Poster struct {
	Posts Posts
	// Warn is told, once each, what the forge does not take; nil for nobody.
	Warn func(ctx context.Context, what string, err error)
}

func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// refused starts the hash of what the forge does not take, which is a warning,
// never a failure: a conversation is locked, a permission is missing, a commit is
// not there.
const refused = "refused:"

// refusedBy tells a forge's final word from a failure that passes.
func refusedBy(err error) bool {
	var rejected *forges.Rejected
	var forbidden *forges.Forbidden
	return errors.Is(err, forges.ErrNotFound) || errors.As(err, &rejected) || errors.As(err, &forbidden)
}

// keep remembers what became of saying something.
func (p *Poster) keep(ctx context.Context, site *usecase.Site, target, what, hash string, last Post, id int64, err error) error {
	post := Post{Hash: hash, RemoteID: id}
	if err != nil {
		if !refusedBy(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		post = Post{Hash: refused + hash, RemoteID: last.RemoteID}
		if !strings.HasPrefix(last.Hash, refused) && p.Warn != nil {
			p.Warn(ctx, what, err)
		}
	}
	return p.Posts.SavePost(ctx, site.Repo, target, post)
}

func statusTarget(sha, context string) string { return "status:" + sha + ":" + context }

// Status sets a commit status unless it is what was set last. What the forge
// does not take (a head pushed away, a fork's on some forges, a missing
// permission) is no failure: Refused then says so, and it is tried again when it
// is next said (cases, atlantis 2601).
func (p *Poster) Status(ctx context.Context, site *usecase.Site, sha string, s forges.Status) error {
	s.Context = note.Context(s.Context)
	target := statusTarget(sha, s.Context)
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
	if !stands {
		if !strings.HasPrefix(last.Hash, refused) {
			if err := p.Posts.SavePost(ctx, site.Repo, target, Post{Hash: unanswered + hash}); err != nil {
				return err
			}
		}
		err = site.Forge.SetStatus(ctx, site.Repo, sha, s)
	}
	return p.keep(ctx, site, target, fmt.Sprintf("setting status %s on %s", s.Context, project.Short(sha)), hash, last, 0, err)
}

// Refused tells whether the forge did not take the last status of a context.
func (p *Poster) Refused(ctx context.Context, site *usecase.Site, sha, context string) (bool, error) {
	last, _, err := p.Posts.Post(ctx, site.Repo, statusTarget(sha, note.Context(context)))
	return strings.HasPrefix(last.Hash, refused), err
}

// statusStands tells whether a status is the one that stands on the forge.
func statusStands(ctx context.Context, site *usecase.Site, sha string, s forges.Status) (bool, error) {
	standing, err := site.Forge.Status(ctx, site.Repo, sha, s.Context)
	if errors.Is(err, forges.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading status %s on %s: %w", s.Context, project.Short(sha), err)
	}
	return standing.State == s.State && standing.Description == s.Description && standing.TargetURL == s.TargetURL, nil
}

// Note writes the sticky note of a pull request: edited in place, found by its
// stored id first and its marker second. A body the forge refuses is replaced
// by the short one; where it takes none, that is no failure, and it is tried
// again when the note is next written.
func (p *Poster) Note(ctx context.Context, site *usecase.Site, number int, marker string, in note.Input) error {
	limit := note.Limit(site.Repo.Instance.Kind)
	return p.written(ctx, site, number, noteTarget(number, marker), marker, note.Render(in, limit), func() string { return note.Short(in, limit) })
}

func noteTarget(number int, marker string) string { return fmt.Sprintf("note:%d:%s", number, marker) }

// Once writes a comment that is never edited and never written a second time,
// on whatever pull request it was due first. Its marker names what it says. The
// pull request that claims it writes it, after a crash too: several may carry what
// it is about, and are settled side by side.
func (p *Poster) Once(ctx context.Context, site *usecase.Site, number int, marker, body string) error {
	target := "once:" + marker
	last, found, err := p.Posts.Post(ctx, site.Repo, target)
	if err != nil || found && !last.unanswered() {
		return err
	}
	body = marker + "\n" + body
	claim := fmt.Sprintf("%s#%d:", unanswered, number)
	if !found {
		found, err = p.Posts.ClaimPost(ctx, site.Repo, target, Post{Hash: claim + hashOf(body)})
		if err != nil || !found {
			return err
		}
	} else if strings.HasPrefix(last.Hash, unanswered+"#") && !strings.HasPrefix(last.Hash, claim) {
		return nil // another pull request's
	}
	made, err := p.write(ctx, site, number, marker, body, 0, false)
	return p.keep(ctx, site, target, fmt.Sprintf("writing a comment on #%d", number), hashOf(body), last, made, err)
}

// written brings a comment of ours to a body; shorter may be nil.
func (p *Poster) written(ctx context.Context, site *usecase.Site, number int, target, marker, body string, shorter func() string) error {
	hash := hashOf(body)
	last, found, err := p.Posts.Post(ctx, site.Repo, target)
	if err != nil || found && last.Hash == hash {
		return err
	}
	id := last.RemoteID
	if last.unanswered() {
		id = 0 // look at what stands
	}
	if !strings.HasPrefix(last.Hash, refused) {
		if err := p.Posts.SavePost(ctx, site.Repo, target, Post{Hash: unanswered + hash, RemoteID: id}); err != nil {
			return err
		}
	}
	bare := !found && site.Bare[marker] // what we wrote since, we know of
	made, err := p.write(ctx, site, number, marker, body, id, bare)
	var rejected *forges.Rejected
	if errors.As(err, &rejected) && shorter != nil {
		made, err = p.write(ctx, site, number, marker, shorter(), id, bare)
	}
	return p.keep(ctx, site, target, fmt.Sprintf("writing the note of #%d", number), hash, last, made, err)
}

// write edits the note that stands, or makes one. It looks for one whose id is not
// known, unless somebody just did and there is none.
func (p *Poster) write(ctx context.Context, site *usecase.Site, number int, marker, body string, id int64, bare bool) (int64, error) {
	if id == 0 && !bare {
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
