package conformance_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chant-bot/chant/engine"
)

// conform is one case. It runs on every forge but those that lack what it is
// about, each for a reason.
type conform struct {
	name    string
	lacking lacking
	policy  policy
	// alone: it has a forge and a server of its own.
	alone *setup
	// elsewhere: its repository is not one that is served.
	elsewhere bool
	run       func(w *world)
}

// lacking says why a case does not exist on a forge.
type lacking map[engine.ForgeKind]string

// cases are all of them, in the order they are printed.
func cases() []conform {
	return slices.Concat(journeys(), approvals(), approvers(), changes(), writes(), deliveries(), doors(), greens(), numbers())
}

// slug is the name of a case's repository.
func (c conform) slug() string {
	return "acme/" + strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(c.name), "-"), "-")
}

// served are the repositories of the cases that share a server.
func served(all []conform) []string {
	var names []string
	for _, c := range all {
		if c.alone == nil && !c.elsewhere {
			names = append(names, c.slug())
		}
	}
	return names
}

func TestConformance(t *testing.T) {
	t.Parallel()
	all := cases()
	results := &results{of: map[string]map[engine.ForgeKind]string{}}
	t.Cleanup(func() { results.print(all) })
	for _, d := range dialects() {
		t.Run(string(d.kind), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, d)
			s := newServer(t, h, setup{repositories: served(all)})
			t.Run("cases", func(t *testing.T) {
				for _, c := range all {
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						defer func() { results.keep(t, c, d.kind) }()
						if why := c.lacking[d.kind]; why != "" {
							t.Skip(why)
						}
						h, s := h, s
						if c.alone != nil {
							h = newHost(t, d)
							own := *c.alone
							own.repositories = []string{c.slug()}
							s = newServer(t, h, own)
						}
						c.run(newWorld(t, h, s, c.slug(), c.policy))
					})
				}
			})
			s.relays[h].understood(t)
		})
	}
}

// results are what came of each case on each forge.
type results struct {
	mu sync.Mutex
	of map[string]map[engine.ForgeKind]string
}

func (r *results) keep(t *testing.T, c conform, kind engine.ForgeKind) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[c.name] == nil {
		r.of[c.name] = map[engine.ForgeKind]string{}
	}
	r.of[c.name][kind] = "pass"
	switch {
	case t.Failed():
		r.of[c.name][kind] = "FAIL"
	case t.Skipped():
		r.of[c.name][kind] = "-"
	}
}

// print writes the table, and below it why a case does not exist on a forge.
func (r *results) print(all []conform) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var table, reasons strings.Builder
	width := 0
	for _, c := range all {
		width = max(width, len(c.name))
	}
	fmt.Fprintf(&table, "\n%-*s", width, "case")
	for _, d := range dialects() {
		fmt.Fprintf(&table, " %-8s", d.kind)
	}
	ran := 0
	for _, c := range all {
		if r.of[c.name] == nil {
			continue // not asked for
		}
		ran++
		fmt.Fprintf(&table, "\n%-*s", width, c.name)
		for _, d := range dialects() {
			fmt.Fprintf(&table, " %-8s", r.of[c.name][d.kind])
			if why := c.lacking[d.kind]; why != "" {
				fmt.Fprintf(&reasons, "- %s, %s: %s\n", c.name, d.kind, why)
			}
		}
	}
	fmt.Fprintf(os.Stdout, "%s\n\n%d cases. Those that do not exist on a forge:\n%s\n", table.String(), ran, reasons.String())
}
