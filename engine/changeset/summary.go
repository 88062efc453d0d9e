package changeset

import (
	"bytes"
	"strconv"
)

// Summary counts a document and names its deletes and replacements
// (change-set §2.2). Provisional members are in it; no digest covers it.
type Summary struct {
	Members      int               `json:"members"`
	Entries      int               `json:"entries"`
	Actions      Counts            `json:"actions"` // every action, zero too
	Types        map[string]Counts `json:"types"`
	ByMember     map[string]Counts `json:"byMember"`
	Deletes      []Named           `json:"deletes"`
	Replacements []Named           `json:"replacements"`
	Failed       []string          `json:"failed"`
	Holes        int               `json:"holes"`
}

// Counts is how often each action occurs.
type Counts map[Action]int

// Named is an entry the summary calls by name.
type Named struct {
	Member     string `json:"member"`
	Address    string `json:"address"`
	Type       string `json:"type"`
	Deposed    string `json:"deposed,omitempty"`
	Disruption string `json:"disruption,omitempty"`
}

// actions is every action in the order the summary counts them.
func actions() [7]Action { return [...]Action{Create, Update, Replace, Delete, Read, NoOp, Forget} }

// MarshalJSON writes the actions in their own order.
func (c Counts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	separator := "{"
	for _, a := range actions() {
		if n, ok := c[a]; ok {
			b.WriteString(separator + strconv.Quote(string(a)) + ":" + strconv.Itoa(n))
			separator = ","
		}
	}
	if separator == "{" {
		b.WriteString("{")
	}
	b.WriteString("}")
	return b.Bytes(), nil
}

// summarise counts sorted members and entries.
func summarise(members []Member, entries []Entry) Summary {
	s := Summary{
		Members: len(members), Entries: len(entries), Actions: Counts{},
		Types: map[string]Counts{}, ByMember: map[string]Counts{},
		Deletes: []Named{}, Replacements: []Named{}, Failed: []string{},
	}
	for _, a := range actions() {
		s.Actions[a] = 0
	}
	for _, m := range members {
		s.Holes += len(m.Holes)
		if m.Status == Failed {
			s.Failed = append(s.Failed, m.Member)
		}
	}
	for i := range entries {
		e := &entries[i]
		s.Actions[e.Action]++
		count(s.Types, e.Type, e.Action)
		count(s.ByMember, e.Member, e.Action)
		named := Named{e.Member, e.Address, e.Type, e.Deposed, e.Disruption}
		switch e.Action {
		case Delete:
			s.Deletes = append(s.Deletes, named)
		case Replace:
			s.Replacements = append(s.Replacements, named)
		}
	}
	return s
}

func count(in map[string]Counts, key string, a Action) {
	if in[key] == nil {
		in[key] = Counts{}
	}
	in[key][a]++
}
