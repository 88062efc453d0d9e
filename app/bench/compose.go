package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// composing composes and digests few entries and many, and compares the time an
// entry takes.
func composing(_ context.Context, b *bench) error {
	few, many := 10_000, b.of(100_000, 20_000)
	small, err := parts(few)
	if err != nil {
		return err
	}
	large, err := parts(many)
	if err != nil {
		return err
	}
	taken, err := inTurn(b.of(9, 2),
		func() (float64, error) { return timeCompose(large, many) },
		func() (float64, error) { return timeCompose(small, few) })
	if err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("time an entry of %d, of %d", many, few), over(taken[0], taken[1]), 1.3, ratio)
	b.note(fmt.Sprintf("time an entry of %d", many), taken[0], " ns")
	return nil
}

// timeCompose returns nanoseconds an entry. What earlier rounds left is
// collected first.
func timeCompose(parts []changeset.Part, entries int) (float64, error) {
	rounds := max(1, 100_000/entries) // as much work in each sample
	runtime.GC()
	begin := time.Now()
	for range rounds {
		if _, err := changeset.Compose(parts, "1.0.0"); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(rounds*entries), nil
}

// parts spreads entries over twenty members, far from sorted.
func parts(entries int) ([]changeset.Part, error) {
	const members = 20
	out := make([]changeset.Part, members)
	for m := range out {
		name := fmt.Sprintf("estates/e%02d", m)
		d, err := digest.Of("terraform-plan", digest.StringOf(name))
		if err != nil {
			return nil, err
		}
		n := entries / members
		part := changeset.Part{
			Member:  changeset.Member{Member: name, Lexicon: "terraform", Planner: "terraform", Status: changeset.Planned, PlanDigest: &d},
			Entries: make([]changeset.Entry, n),
		}
		for i := range part.Entries {
			part.Entries[i] = changeset.Entry{
				Member: name, Lexicon: "terraform", Planner: "terraform", Type: "aws_instance", Name: "web", Action: changeset.Update,
				Address:    fmt.Sprintf(`module.app["eu-%d"].aws_instance.web[%d]`, i%7, i*7919%n),
				Attributes: []changeset.Attribute{{Path: "/tags/Name", Before: digest.StringOf("old"), After: digest.StringOf(fmt.Sprint(i))}},
			}
		}
		out[m] = part
	}
	return out, nil
}
