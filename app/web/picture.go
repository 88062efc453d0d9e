package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chant-bot/chant/comments/note"
)

// Sizes of the picture in its own units; the stylesheet scales it.
const (
	boxWidth, boxHeight = 212, 38
	columnGap, rowGap   = 56, 10
	headRoom            = 24
	frameRoom           = 18 // above the boxes of a group, for its name
	framePad            = 5
	maxBoxes            = 24 // of a column; the rest is counted
	nameRunes           = 22
	statusRunes         = 30
)

// picture is the waves laid out: columns of boxes and the lines between them.
type picture struct {
	Width, Height int
	Label, Told   string // what it is, and what it shows, for who can't see it
	Heads         []head
	Frames        []frame
	Boxes         []placed
	Lines         []string // path data
}

type head struct {
	X      int
	Number int
	Status string // of the wave's gate
}

// frame is around the boxes of one group.
type frame struct {
	X, Y, W, H   int
	NameX, NameY int
	Name, Full   string
}

type placed struct {
	X, Y                int
	Full, Name, Status  string
	Says, Short         string // the status with its reason, whole and cut to fit
	NameX, NameY, StatY int
	W, H                int
}

// draw lays waves out from left to right, with a frame around each group. Of a wave
// with more than maxBoxes members those that went wrong, run or wait come first, and
// the rest is counted in one last box.
func draw(waves []Wave) picture {
	p := picture{Label: "Waves of members, left to right", Told: told(waves)}
	at := map[string]placed{}
	for i, w := range waves {
		x := framePad + 1 + i*(boxWidth+columnGap)
		p.Heads = append(p.Heads, head{X: x, Number: w.Number, Status: w.Status})
		shown := w.Members
		if len(shown) > maxBoxes {
			shown = urgentFirst(shown)
			shown = append(shown[:maxBoxes-1:maxBoxes-1], Box{Name: fmt.Sprintf("and %d more", len(shown)-maxBoxes+1)})
		}
		p.column(x, shown, at)
		p.Width = x + boxWidth + framePad + 1
	}
	return p
}

// column places the boxes of one wave below each other, and draws the lines to them
// from those placed before.
func (p *picture) column(x int, members []Box, at map[string]placed) {
	y := headRoom
	for i, m := range members {
		first := i == 0 || members[i-1].Group != m.Group
		if m.Group != "" && first {
			full := "group " + note.Plain(m.Group)
			p.Frames = append(p.Frames, frame{
				X: x - framePad, Y: y, W: boxWidth + 2*framePad, H: frameRoom,
				NameX: x, NameY: y + frameRoom - framePad, Full: full + ", applied as one", Name: fitted(full, nameRunes),
			})
			y += frameRoom
		}
		b := place(x, y, m)
		at[m.Name] = b
		p.Boxes = append(p.Boxes, b)
		for _, need := range m.Needs {
			if from, ok := at[need]; ok && from.X < b.X {
				p.Lines = append(p.Lines, curve(from, b))
			}
		}
		y += boxHeight + rowGap
		if m.Group != "" {
			f := &p.Frames[len(p.Frames)-1]
			f.H = b.Y + boxHeight + framePad - f.Y
			if i+1 == len(members) || members[i+1].Group != m.Group {
				y += framePad
			}
		}
	}
	p.Height = max(p.Height, y)
}

// urgentFirst orders members by what a person looks for.
func urgentFirst(members []Box) []Box {
	rank := func(b Box) int { return slices.Index([]string{"bad", "busy", "wait", "idle", "good"}, tone(b.Status)) }
	return slices.SortedStableFunc(slices.Values(members), func(a, b Box) int { return cmp.Compare(rank(a), rank(b)) })
}

// told is the picture in words: how many members of each wave stand where.
func told(waves []Wave) string {
	var parts []string
	for _, w := range waves {
		counts := map[string]int{}
		for _, m := range w.Members {
			counts[m.Status]++
		}
		var words []string
		for _, status := range slices.Sorted(maps.Keys(counts)) {
			words = append(words, fmt.Sprintf("%d %s", counts[status], status))
		}
		parts = append(parts, fmt.Sprintf("Wave %d: %s.", w.Number, strings.Join(words, ", ")))
	}
	return strings.Join(parts, " ")
}

func place(x, y int, m Box) placed {
	full, says := note.Plain(m.Name), note.Plain(by(m.Status, m.BlockedBy))
	return placed{
		X: x, Y: y, W: boxWidth, H: boxHeight, NameX: x + 14, NameY: y + 16, StatY: y + 31,
		Full: full, Name: fitted(full, nameRunes), Status: m.Status, Says: says, Short: fitted(says, statusRunes),
	}
}

// fitted leaves out the middle of a text that is too long: names tend to differ at
// their ends.
func fitted(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:most-9]) + "…" + string(runes[len(runes)-8:])
}

// curve goes from the right edge of one box to the left edge of another. Where it
// passes other columns it runs in the gap below the first box's row, so that it
// stays in sight.
func curve(from, to placed) string {
	x1, y1 := from.X+boxWidth, from.Y+boxHeight/2
	x2, y2 := to.X, to.Y+boxHeight/2
	if x2-x1 <= columnGap {
		return bend(x1, y1, x2, y2)
	}
	gap := from.Y + boxHeight + rowGap/2
	return bend(x1, y1, x1+columnGap, gap) + fmt.Sprintf("H%d", x2-columnGap) + "C" + controls(x2-columnGap, gap, x2, y2)
}

func bend(x1, y1, x2, y2 int) string {
	return fmt.Sprintf("M%d %dC", x1, y1) + controls(x1, y1, x2, y2)
}

func controls(x1, y1, x2, y2 int) string {
	mid := (x2 - x1) / 2
	return fmt.Sprintf("%d %d %d %d %d %d", x1+mid, y1, x2-mid, y2, x2, y2)
}
