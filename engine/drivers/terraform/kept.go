package terraform

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
)

// keptDir holds the states that an apply left and no backend took.
func (d *Driver) keptDir() string { return filepath.Join(d.cfg.StateDir, "kept") }

// keptPrefix begins the names of a member's files in it. Two projects of a workspace may
// have members of one name.
func (d *Driver) keptPrefix(t engine.Target) string {
	project, _ := filepath.Rel(t.Worktree, t.ProjectDir) // an opened target has it
	return d.memberKey(filepath.Join(project, t.Member))[:16] + "-"
}

// keptOf follows in their names, for the place that the state belongs in: a root that is
// renamed has its state where it was. Where that is, credentials say too, and they are
// those of an environment.
func (d *Driver) keptOf(place string) string {
	key := sha256.Sum256([]byte(d.cfg.Scope + "\x00" + place))
	return hex.EncodeToString(key[:8]) + "-"
}

// keptEnd ends the name of a state that was kept of a root by itself: its id, by which
// every machine knows of it. Of a group's member its group is known.
var keptEnd = regexp.MustCompile(`\.([0-9a-f]{12})\.tfstate$`)

// newKeptID is drawn once for each apply: two of them may leave the same state.
func newKeptID() string {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// keptID is the id in a name, "" for none.
func keptID(name string) string {
	if m := keptEnd.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// keepState saves a state that its backend did not take, for a person to look at. Nothing
// of the member, nor of what has its place, is planned as long as it is there. Its id is ""
// in a group.
func (d *Driver) keepState(t engine.Target, place, id string, state digest.Value) (path string, err error) {
	what := fmt.Sprintf("%s-%s-%s", t.Member, textIn(state, "lineage"), state.Get("serial"))
	if id != "" {
		what += "." + id
	}
	path = filepath.Join(d.keptDir(), d.keptPrefix(t)+d.keptOf(place)+url.PathEscape(what+".tfstate"))
	if err = os.MkdirAll(d.keptDir(), 0o700); err == nil {
		err = writeDurably(path, []byte(state.String()))
	}
	if err != nil {
		return "", fmt.Errorf("keeping the state of %s: %w", t.Member, err)
	}
	return path, nil
}

// Keeps implements engine.Applier.
func (d *Driver) Keeps(id string) (bool, error) {
	entries, err := os.ReadDir(d.keptDir())
	if d.cfg.StateDir == "" || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for kept states: %w", err)
	}
	for _, e := range entries {
		if keptID(e.Name()) == id {
			return true, nil
		}
	}
	return false, nil
}

// isKept says where a state is that its backend did not take, and what to do.
func (d *Driver) isKept(member, path string) string {
	where := "there "
	if keptID(path) != "" {
		where = ""
	}
	return fmt.Sprintf("is kept in %s of the machine that applied, and nothing of %s is planned %sbefore: compare it with the present one and push it by hand (%s state push), or %s", path, member, where, d.planner, isDealt(path))
}

// isDealt is how people say that a kept state is dealt with: one that others know of is
// not by its file alone.
func isDealt(path string) string {
	if id := keptID(path); id != "" {
		return unlockWith(id)
	}
	return "remove the file"
}

func unlockWith(id string) string {
	return fmt.Sprintf("have an administrator comment: chant unlock %s (or whoever may write the ledger run that in a checkout)", id)
}

// keep saves a member's part that can't be pushed, and says so.
func (grp *group) keep(m *member, part digest.Value, why error) (string, error) {
	d := grp.g.d
	place, err := m.w.place()
	if err != nil {
		return "", err
	}
	path, err := d.keepState(m.Target, place, "", part)
	if err != nil {
		return "", err
	}
	text := why.Error()
	if _, ok := errors.AsType[*engine.Told](why); !ok {
		text = "its backend could not be reached"
	}
	return fmt.Sprintf("%s was applied, but its state can't be stored (%s); it %s", m.Target.Member, text, d.isKept(m.Target.Member, path)), nil
}

func textIn(object digest.Value, key string) string {
	text, _ := object.Get(key).Text()
	return text
}

// unpushed refuses an initialised root of which a state is kept that is not the present
// one: planned from that, what exists would be made again (soundness I12). A state that
// was pushed meanwhile is kept no longer.
func (w *workdir) unpushed(ctx context.Context) error {
	if err := w.keepLeft(ctx); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.d.keptDir())
	if w.d.cfg.StateDir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for kept states of root %s: %w", w.t.Root.Name, err)
	}
	place, err := w.place()
	if err != nil {
		return err
	}
	own, here := w.d.keptPrefix(w.t), w.d.keptOf(place)
	for _, e := range entries {
		name := e.Name()
		belongs := len(name) > len(own) && strings.HasPrefix(name[len(own):], here)
		if !belongs && !strings.HasPrefix(name, own) {
			continue
		}
		if err := w.isDealtWith(ctx, filepath.Join(w.d.keptDir(), name), belongs); err != nil {
			return err
		}
	}
	return nil
}

// isDealtWith refuses a root as long as a kept state is neither where it belongs nor void.
// One that belongs elsewhere is not looked for here: where a root keeps its state says code
// that nobody approved yet.
func (w *workdir) isDealtWith(ctx context.Context, path string, belongs bool) error {
	id := keptID(path)
	known := id != "" && w.t.Keeper != nil
	if known {
		void, err := w.t.Keeper.Void(ctx, id)
		if err != nil {
			return fmt.Errorf("asking whether a kept state of root %s still counts: %w", w.t.Root.Name, err)
		}
		if void {
			return w.d.putAside(path)
		}
	}
	pushed, hidden, err := w.isPushed(ctx, path)
	if err != nil {
		return err
	}
	if !pushed || !belongs {
		return w.notPushed(ctx, path, known, hidden)
	}
	if known {
		if err := w.t.Keeper.Stored(ctx, id); err != nil {
			return fmt.Errorf("telling that the kept state of root %s is stored: %w", w.t.Root.Name, err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a kept state of root %s: %w", w.t.Root.Name, err)
	}
	return nil
}

// isPushed tells whether the present state is the kept one. One that is hidden, as where
// tofu encrypted it, lists nothing, as a root without a state does.
func (w *workdir) isPushed(ctx context.Context, path string) (pushed, hidden bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return false, false, fmt.Errorf("reading a kept state of root %s: %w", w.t.Root.Name, err)
	}
	now, err := w.pull(ctx)
	if err != nil {
		return false, false, err
	}
	kept, unread := digest.Decode(text)
	hidden = kept.Get("resources").Kind() != digest.Array
	return unread == nil && !hidden && states.SameContent(now, kept), hidden, nil
}

// notPushed says so, and has others know, whom a crash may have kept from that.
func (w *workdir) notPushed(ctx context.Context, path string, known, hidden bool) error {
	done := "remove it once all that it holds is in the present state"
	if known {
		done = "once all that it holds is in the present state, " + isDealt(path)
	}
	why := fmt.Errorf("root %s is not planned: an apply left its state in %s of this machine, since its backend did not take it, and from the present state what exists would be made again. Push that file (%s state push), or %s", w.t.Root.Name, path, w.d.planner, done)
	switch {
	case hidden && known:
		why = fmt.Errorf("%w. What it holds can't be read here, as where it is encrypted: do that too when you pushed it", why)
	case hidden:
		why = fmt.Errorf("%w. What it holds can't be read here, as where it is encrypted: remove it too when you pushed it", why)
	}
	if known {
		if err := w.t.Keeper.Keep(ctx, engine.KeptState{ID: keptID(path), Member: w.t.Member, File: path}); err != nil {
			why = fmt.Errorf("%w. Other machines can't be told of it now", why)
		}
	}
	return engine.Tell(why)
}

// putAside takes a kept state away that is void by somebody's word.
func (d *Driver) putAside(path string) error {
	aside := filepath.Join(d.cfg.StateDir, "kept-released")
	err := os.MkdirAll(aside, 0o700)
	if err == nil {
		err = os.Rename(path, filepath.Join(aside, filepath.Base(path)))
	}
	if err != nil {
		return fmt.Errorf("putting a kept state aside: %w", err)
	}
	return nil
}
