package usecase

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/record"
)

// UnlockedGroup is a group that was open.
type UnlockedGroup struct {
	Env, Member string // Member is that of the workspace
	Group       record.OpenGroup
}

// UnlockGroup takes the mark of a group, or of a state that no backend took, away on
// somebody's word that the states of its members are right as they are. Its journal, or the
// file of that state, wherever it is, is void from then on. The
// error is *lease.Held while somebody holds the environment, and a Refusal where no group
// is open by that name.
func (st *Stage) UnlockGroup(ctx context.Context, site *Site, mark, by, url string) (UnlockedGroup, error) {
	snap, err := site.Ledger.Snapshot(ctx)
	if err != nil {
		return UnlockedGroup{}, err
	}
	found, ok, err := findGroup(snap, "", "", mark)
	if err != nil {
		return UnlockedGroup{}, err
	}
	if !ok {
		return UnlockedGroup{}, noGroup(mark)
	}
	_, err = st.leased(ctx, site, found.Env, found.Member, func(*lease.Lease) (*Apply, error) {
		was := false
		err := st.groupsOf(site, found.Member, found.Env).change(ctx, "Group unlocked", func(groups *record.Groups) bool {
			was = groups.Release(mark, by, gate.Timestamp(st.Now()), url)
			return was
		})
		if err == nil && !was {
			err = noGroup(mark) // it ended meanwhile
		}
		return nil, err
	})
	return found, err
}

func noGroup(mark string) error {
	return Refusef("no apply of a group is open by the name %s, nor is a state kept by it; it ended by itself, or was unlocked before", mark)
}

// findGroup looks for an open group in every environment of a project and of the members
// below it. A record that can't be read is the error only where none of the others has it.
func findGroup(snap *ledger.Snapshot, prefix, member, mark string) (UnlockedGroup, bool, error) {
	files, err := snap.List(prefix + record.GroupsDir)
	if err != nil {
		return UnlockedGroup{}, false, err
	}
	var unreadable error // unless it is found elsewhere
	for _, file := range files {
		groups, _, err := groupsIn(snap, prefix+record.GroupsDir+strings.TrimSuffix(file, "/"))
		if _, is := errors.AsType[GroupsUnreadableError](err); is {
			unreadable = cmp.Or(unreadable, err)
			continue
		}
		if err != nil {
			return UnlockedGroup{}, false, err
		}
		for _, o := range groups.Open {
			if o.ID == mark {
				return UnlockedGroup{Env: groups.Env, Member: member, Group: o}, true, nil
			}
		}
	}
	dirs, err := snap.List(prefix + "_members")
	if err != nil {
		return UnlockedGroup{}, false, err
	}
	for _, dir := range dirs {
		name, isDir := strings.CutSuffix(dir, "/")
		if !isDir {
			continue
		}
		found, ok, err := findGroup(snap, prefix+"_members/"+dir, strings.TrimPrefix(member+"/"+name, "/"), mark)
		if _, is := errors.AsType[GroupsUnreadableError](err); is {
			unreadable = cmp.Or(unreadable, err)
			continue
		}
		if ok || err != nil {
			return found, ok, err
		}
	}
	return UnlockedGroup{}, false, unreadable
}
