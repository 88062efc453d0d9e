package terraform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
)

// keptDir holds the states that an apply left and no backend took.
func (d *Driver) keptDir() string { return filepath.Join(d.cfg.StateDir, "kept") }

// keptPrefix begins the names of a member's files in it.
func (d *Driver) keptPrefix(member string) string { return d.memberKey(member)[:16] + "-" }

// keptOf follows in their names, for the place that the state belongs in: a root that is
// renamed has its state where it was.
func keptOf(place string) string {
	key := sha256.Sum256([]byte(place))
	return hex.EncodeToString(key[:8]) + "-"
}

// keepState saves a state that its backend did not take, for a person to look at. Nothing
// of the member, nor of what has its place, is planned as long as it is there.
func (d *Driver) keepState(member, place string, state digest.Value) (path string, err error) {
	what := fmt.Sprintf("%s-%s-%s.tfstate", member, textIn(state, "lineage"), state.Get("serial"))
	path = filepath.Join(d.keptDir(), d.keptPrefix(member)+keptOf(place)+url.PathEscape(what))
	if err = os.MkdirAll(d.keptDir(), 0o700); err == nil {
		err = writeDurably(path, []byte(state.String()))
	}
	if err != nil {
		return "", fmt.Errorf("keeping the state of %s: %w", member, err)
	}
	return path, nil
}

// isKept says where a state is that its backend did not take, and what to do.
func (d *Driver) isKept(member, path string) string {
	return fmt.Sprintf("is kept in %s of the machine that applied, and nothing of %s is planned there before: compare it with the present one and push it by hand (%s state push), or remove the file", path, member, d.planner)
}

// keep saves a member's part that can't be pushed, and says so.
func (grp *group) keep(m *member, part digest.Value, why error) (string, error) {
	d := grp.g.d
	place, err := m.w.place()
	if err != nil {
		return "", err
	}
	path, err := d.keepState(m.Target.Member, place, part)
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
	own := w.d.keptPrefix(w.t.Member)
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, own) && (len(name) < len(own) || !strings.HasPrefix(name[len(own):], keptOf(place))) {
			continue
		}
		if err := w.isPushed(ctx, filepath.Join(w.d.keptDir(), name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *workdir) isPushed(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a kept state of root %s: %w", w.t.Root.Name, err)
	}
	now, err := w.pull(ctx)
	if err != nil {
		return err
	}
	kept, err := digest.Decode(text)
	// One that tofu encrypted lists nothing, as a root without a state does.
	hidden := kept.Get("resources").Kind() != digest.Array
	if err != nil || hidden || !states.SameContent(now, kept) {
		return engine.Tell(fmt.Errorf("root %s is not planned: an apply left its state in %s of this machine, since its backend did not take it, and from the present state what exists would be made again. Push that file (%s state push), or remove it once all that it holds is in the present state%s", w.t.Root.Name, path, w.d.planner, notCompared(hidden)))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a kept state of root %s: %w", w.t.Root.Name, err)
	}
	return nil
}

func notCompared(hidden bool) string {
	if !hidden {
		return ""
	}
	return ". What it holds can't be read here, as where it is encrypted: remove it too when you pushed it"
}
