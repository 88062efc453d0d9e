package cover

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

const standIn = "chant-unknown-0123abcd"

// previewed is a plan of two changes, one of which writes a value from elsewhere.
func previewed(t fataler, value string) changeset.Part {
	t.Helper()
	p := part(net, plan(t, "a"),
		entry("a.x", changeset.Update, write("cidr", "10.0.0.0/8", value), write("size", "1", "2"), unknown("arn", "old")),
		entry("a.y", changeset.Create, changeset.Attribute{Path: "rules", After: digest.ArrayOf(digest.ObjectOf(map[string]digest.Value{"from": text("range " + value)}))}),
		entry("a.z", changeset.NoOp), entry("data.d", changeset.Read),
	)
	p.Member.NativeDigest = "over " + value
	return p
}

func shapeOf(t fataler, p changeset.Part, standIns ...string) PlanShape {
	t.Helper()
	s, err := NewShape(p, standIns)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// components §3.1: what conformance keeps.
func TestShapeCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*changeset.Part)
		why    string // "" when covered
	}{
		"the plan with the real value is covered": {},
		"another real value is too":               {change: func(p *changeset.Part) { *p = previewed(t, "192.168.0.0/16") }},
		"no entry outside the shape is": {change: func(p *changeset.Part) {
			e := entry("a.w", changeset.Create)
			e.Member = net
			p.Entries = append(p.Entries, e)
		}, why: "`a.w`"},
		"nor a change that has gone":       {change: func(p *changeset.Part) { p.Entries = p.Entries[1:] }, why: "the preview showed update"},
		"nor one that has become a no-op":  {change: func(p *changeset.Part) { p.Entries[0].Action, p.Entries[0].Attributes = changeset.NoOp, nil }, why: "the preview showed update"},
		"a no-op or read that has gone is": {change: func(p *changeset.Part) { p.Entries = p.Entries[:2] }},
		"no stronger action is":            {change: func(p *changeset.Part) { p.Entries[0].Action = changeset.Replace }, why: "replace now, update was approved"},
		"no harsher disruption is":         {change: func(p *changeset.Part) { p.Entries[0].Disruption = "rolling" }, why: "rolling"},
		"no other known value is":          {change: func(p *changeset.Part) { p.Entries[0].Attributes[1] = write("size", "1", "3") }, why: "`size`"},
		"no attribute more is": {change: func(p *changeset.Part) {
			p.Entries[0].Attributes = append(p.Entries[0].Attributes, write("tags", "", "x"))
		}, why: "`tags`"},
		"nor where the live value moved since":  {change: func(p *changeset.Part) { p.Entries[0].Attributes[0] = write("cidr", "10.1.0.0/16", "10.0.0.0/16") }, why: "moved since"},
		"nor a value that turned out sensitive": {change: func(p *changeset.Part) { p.Entries[0].Attributes[0] = secret("cidr") }, why: "sensitive"},
		"no action more is": {change: func(p *changeset.Part) {
			p.SideEffects = []changeset.SideEffect{effect("action.x", "a.x", "after_create")}
		}, why: "action.x"},
		"no hole is":                           {change: func(p *changeset.Part) { p.Member.Holes = []changeset.Hole{{Address: "a.x", Reason: "deferred"}} }, why: "a.x"},
		"no plan that still waits for a value": {change: func(p *changeset.Part) { p.Member.Holes = []changeset.Hole{{Address: "net.id", Type: "input"}} }, why: "not known yet"},
		"no failed plan is":                    {change: func(p *changeset.Part) { p.Member.Status = changeset.Failed }, why: "failed to plan"},
		"no plan of another member is":         {change: func(p *changeset.Part) { p.Member.Member = "app" }, why: "plan of app"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := previewed(t, "10.0.0.0/16")
			if c.change != nil {
				c.change(&now)
			}
			ok, why := shapeOf(t, previewed(t, standIn), standIn).Covers(now)
			if ok != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("covered %v, %q; want %q", ok, why, c.why)
			}
		})
	}
}

func TestAShapeThatFailedOrWaitsCoversNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*changeset.Part){
		"failed":        func(p *changeset.Part) { p.Member.Status = changeset.Failed },
		"was not known": func(p *changeset.Part) { p.Member.Holes = []changeset.Hole{{Address: "net.id", Type: "input"}} },
		"provisional":   func(p *changeset.Part) { p.Member.Provisional = true },
	} {
		p := previewed(t, standIn)
		change(&p)
		if ok, why := shapeOf(t, p, standIn).Covers(previewed(t, "10.0.0.0/16")); ok || !strings.Contains(why, name) {
			t.Errorf("%s: %v, %q", name, ok, why)
		}
	}
}

func TestAStandInMayReachOnlyWhatAChangeWrites(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*changeset.Part){
		"the address of":           func(p *changeset.Part) { p.Entries[0].Address += "[" + standIn + "]" },
		"the index of":             func(p *changeset.Part) { p.Entries[0].Index = text(standIn) },
		"the id of":                func(p *changeset.Part) { p.Entries[0].ID = standIn },
		"the region of":            func(p *changeset.Part) { p.Entries[0].Region = standIn },
		"an attribute of":          func(p *changeset.Part) { p.Entries[0].Attributes[0].Before = text(standIn) },
		"an attribute of `a.x`":    func(p *changeset.Part) { p.Entries[0].Attributes[0].Path += "." + standIn },
		"the action":               func(p *changeset.Part) { p.SideEffects = []changeset.SideEffect{effect("action."+standIn, "", "")} },
		"the plan says nothing":    func(p *changeset.Part) { p.Member.Holes = []changeset.Hole{{Address: standIn}} },
		"two entries at one place": func(p *changeset.Part) { p.Entries[1] = p.Entries[0] },
	} {
		p := previewed(t, standIn)
		change(&p)
		if s, err := NewShape(p, []string{standIn}); err == nil || name[:4] != "two " && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %+v", name, err, s.Entries)
		}
	}
	if _, err := NewShape(previewed(t, ""), []string{""}); err == nil {
		t.Error("an empty text stood in")
	}
}

// Wherever in a value a stand-in is, the value is not known; where none is, it stays.
func TestAStandInIsFoundAnywhereInAValue(t *testing.T) {
	t.Parallel()
	for value, known := range map[string]bool{
		`"` + standIn + `"`:                       false,
		`"a-` + standIn + `-b"`:                   false,
		`{"` + standIn + `":1}`:                   false,
		`{"a":[1,{"b":["x","` + standIn + `"]}]}`: false,
		`{"a":[1,{"b":["x","y"]}]}`:               true,
		`[null,true,1.5]`:                         true,
	} {
		v, err := digest.Decode([]byte(value))
		if err != nil {
			t.Fatal(err)
		}
		p := previewed(t, standIn)
		p.Entries[0].Attributes[0].After = v
		p.SideEffects = []changeset.SideEffect{effect("action.x", "a.x", "after_create")} // which it is not in
		if a := shapeOf(t, p, standIn).Entries[0].Attributes[0]; a.Unknown == known || known != digest.Equal(a.After, v) {
			t.Errorf("%s: %+v", value, a)
		}
	}
}

// What the document of a run says of the member is the shape, and its digest that of
// no plan.
func TestTheDocumentHoldsTheShape(t *testing.T) {
	t.Parallel()
	shape := shapeOf(t, previewed(t, standIn), standIn)
	doc, err := changeset.Compose([]changeset.Part{shape.Part, part("app", plan(t, "b"))}, "")
	if err != nil {
		t.Fatal(err)
	}
	back, there := ShapeIn(doc, net)
	if diff := cmp.Diff(shape.Member, back.Member); diff != "" || !there {
		t.Errorf("found %v: %s", there, diff)
	}
	if ok, why := back.Covers(previewed(t, "10.0.0.0/16")); !ok {
		t.Error(why)
	}
	if digest.Same(*shape.Member.PlanDigest, *previewed(t, "x").Member.PlanDigest) {
		t.Error("the shape has the digest of the plan")
	}
	if _, there := ShapeIn(doc, "web"); there {
		t.Error("found a member that is not there")
	}
}

// The shape, and so what an approval binds, is the same for any stand-in.
func TestAShapeIsTheSameForAnyStandIn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`chant-unknown-[0-9a-f]{8}`)
		one, two := word.Draw(t, "one"), word.Draw(t, "two")
		a, b := shapeOf(t, previewed(t, one), one), shapeOf(t, previewed(t, two), two)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A shape covers no more than an approval of the same entries would.
func TestAShapeCoversNoMoreThanAnApprovedPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		approved := onSource(anySide(t, net), source)
		then, _ := partOf(approved.Doc, net)
		shape := shapeOf(t, then)
		fresh := side(t, part(net, plan(t, "d"), likeEntries(t, approved)...))
		now, _ := partOf(fresh.Doc, net)
		if ok, _ := shape.Covers(now); !ok {
			return
		}
		if ok, why := PlanCoveredBy(approved, fresh, net); !ok {
			t.Fatalf("the shape covers what an approval does not: %s", why)
		}
	})
}
