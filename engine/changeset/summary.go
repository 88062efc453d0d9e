package changeset

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
