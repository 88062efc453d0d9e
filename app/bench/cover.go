package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
)

// covered asks which of many merges covers which of 200 members.
func covered(_ context.Context, b *bench) error {
	const members, entries = 200, 50
	merges, fresh, err := mergesOver(b.of(1_000, 50), members, entries)
	if err != nil {
		return err
	}
	taken, err := inTurn(b.of(15, 3), func() (float64, error) {
		runtime.GC()
		begin := time.Now()
		r := cover.ByMerges(merges, fresh, nil)
		if len(r.Members) != members {
			return 0, fmt.Errorf("coverage of %d members, want %d", len(r.Members), members)
		}
		return time.Since(begin).Seconds(), nil
	})
	if err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("coverage of %d merges over %d members", len(merges), members), taken[0], 1, " s")
	return nil
}

// mergesOver are merges that each planned five members, and the plan of all; no merge
// planned the last tenth of them.
func mergesOver(n, members, entries int) ([]cover.Merge, cover.Side, error) {
	side := func(from, many int, plan string) (cover.Side, error) {
		d, err := digest.Of("terraform-plan", digest.StringOf(plan))
		if err != nil {
			return cover.Side{}, err
		}
		s := cover.Side{Sources: map[string]string{}}
		var parts []changeset.Part
		for k := range many {
			name := fmt.Sprintf("estates/e%03d", from+k)
			p := changeset.Part{Member: changeset.Member{Member: name, Lexicon: "terraform", Planner: "terraform", Status: changeset.Planned, PlanDigest: &d}}
			for i := range entries {
				p.Entries = append(p.Entries, changeset.Entry{
					Member: name, Lexicon: "terraform", Planner: "terraform", Type: "aws_instance", Action: changeset.Update,
					Address:    fmt.Sprintf("aws_instance.web[%d]", i),
					Attributes: []changeset.Attribute{{Path: "size", Before: digest.StringOf("1"), After: digest.StringOf("2")}, {Path: "arn", Unknown: true}},
				})
			}
			s.Sources[name] = "source"
			parts = append(parts, p)
		}
		s.Doc, err = changeset.Compose(parts, "")
		return s, err
	}
	const each = 5
	merges := make([]cover.Merge, n)
	for i := range merges {
		s, err := side(i*each%(members*9/10), each, "approved")
		if err != nil {
			return nil, cover.Side{}, err
		}
		merges[i] = cover.Merge{PR: n - i, Side: s}
	}
	fresh, err := side(0, members, "fresh")
	return merges, fresh, err
}
