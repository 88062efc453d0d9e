package usecase

import (
	"errors"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/record"
)

// What is open in one environment can be unlocked while the record of another one can't be
// read, and that one is named where nothing else has the group. No record is written that
// could not be read again.
func TestAGroupIsFoundBesideARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	site, ctx := siteOf(t, gittest.Bare(t)), t.Context()
	open := record.Groups{Env: "staging", Open: []record.OpenGroup{{ID: "0123456789ab", Members: []string{"net"}, Commit: strings.Repeat("c", 40)}}}
	_, err := site.Ledger.Update(ctx, "Groups", func(*ledger.Snapshot) ([]ledger.File, error) {
		return []ledger.File{
			{Path: record.GroupsPath("", "prod"), Content: []byte("{}")},
			{Path: record.GroupsPath("_members/web/", "staging"), Content: open.JSON()},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := site.Ledger.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, ok, err := findGroup(snap, "", "", "0123456789ab")
	if err != nil || !ok || found.Env != "staging" || found.Member != "web" {
		t.Errorf("found %+v, %v, %v", found, ok, err)
	}
	_, ok, err = findGroup(snap, "", "", "0123456789ff")
	if broken, is := errors.AsType[GroupsUnreadableError](err); ok || !is || broken.path != record.GroupsPath("", "prod") {
		t.Errorf("of a group that no other record has there is %v, %v", ok, err)
	}
	at := groupsAt{&Stage{}, site, "_members/web/", "staging"}
	err = at.change(ctx, "Groups", func(g *record.Groups) bool {
		return g.Begin(record.OpenGroup{ID: "0123456789cd", Members: []string{"a\x1b[2J"}, Commit: strings.Repeat("c", 40)})
	})
	if now, readErr := at.read(ctx); err == nil || readErr != nil || len(now.Open) != 1 {
		t.Errorf("it was written: %v, and reads as %+v, %v", err, now, readErr)
	}
}
