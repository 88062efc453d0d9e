package green

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine/project"
)

// Prefixes of the tags that record a verdict. The rest of the name is the full
// sha of the commit judged.
const (
	GreenPrefix   = "ci/green/"
	RevokedPrefix = "ci/revoked/"
)

// Tag is one tag of the repository.
type Tag struct {
	Name   string // without refs/tags/
	Commit string // the commit it peels to; empty when it peels to none
}

// TagDue is a tag to make and push. Existing tags are never moved.
type TagDue struct {
	Name    string
	Commit  string
	Message string // full annotation: subject, blank line, JSON, final LF
}

// Due says which tag the verdict asks for, nil when none (pr-loop §4.3): a green
// one for a commit without tags that passes, a revoked one for a green commit
// that fails. A revoked tag, even alone, is final.
func Due(g project.Green, commit, branch string, tags []Tag, v Verdict, at time.Time) *TagDue {
	var isGreen, isRevoked bool
	for _, t := range tags {
		isGreen = isGreen || t.Name == GreenPrefix+commit
		isRevoked = isRevoked || t.Name == RevokedPrefix+commit
	}
	switch {
	case isRevoked:
		return nil
	case isGreen && v.State == Fail:
		return &TagDue{Name: RevokedPrefix + commit, Commit: commit, Message: revokedMessage(commit, branch, v, at)}
	case !isGreen && v.State == Pass:
		return &TagDue{Name: GreenPrefix + commit, Commit: commit, Message: greenMessage(g, commit, branch, v, at)}
	}
	return nil
}

type runRecord struct {
	Name       string `json:"name"`
	ID         int64  `json:"id"`
	Conclusion string `json:"conclusion"`
	URL        string `json:"url"`
}

func recordOf(r CheckRun) runRecord {
	return runRecord{Name: r.Name, ID: r.ID, Conclusion: r.Conclusion, URL: r.URL}
}

func greenMessage(g project.Green, commit, branch string, v Verdict, at time.Time) string {
	subject := "green: every required phase passed: " + strings.Join(g.Require, ", ")
	return annotation(subject, struct {
		Schema int           `json:"schema"`
		Tag    string        `json:"tag"`
		Commit string        `json:"commit"`
		Branch string        `json:"branch"`
		At     string        `json:"at"`
		Phases orderedPhases `json:"phases"`
	}{1, "green", commit, branch, stamp(at), orderedPhases{order: g.Require, runs: v.Phases}})
}

func revokedMessage(commit, branch string, v Verdict, at time.Time) string {
	run := CheckRun{}
	if v.Run != nil {
		run = *v.Run
	}
	subject := fmt.Sprintf("revoked: phase %s: %s ended %s", v.Phase, oneLine(run.Name), oneLine(run.Conclusion))
	return annotation(subject, struct {
		Schema int       `json:"schema"`
		Tag    string    `json:"tag"`
		Commit string    `json:"commit"`
		Branch string    `json:"branch"`
		At     string    `json:"at"`
		Phase  string    `json:"phase"`
		Run    runRecord `json:"run"`
	}{1, "revoked", commit, branch, stamp(at), v.Phase, recordOf(run)})
}

// stamp is UTC to the second.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

// oneLine keeps a check's name, which is text of others, from adding lines to a
// subject.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func annotation(subject string, body any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(body); err != nil {
		// Strings, numbers and lists of them always encode.
		return subject + "\n"
	}
	return subject + "\n\n" + buf.String()
}

// orderedPhases writes the required phases in the order the declaration
// requires them.
type orderedPhases struct {
	order []string
	runs  map[string][]CheckRun
}

func (p orderedPhases) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	buf.WriteByte('{')
	for i, name := range p.order {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := enc.Encode(name); err != nil {
			return nil, err
		}
		buf.WriteByte(':')
		records := make([]runRecord, 0, len(p.runs[name]))
		for _, r := range p.runs[name] {
			records = append(records, recordOf(r))
		}
		if err := enc.Encode(records); err != nil {
			return nil, err
		}
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// Counting is which commits are green by their tags.
type Counting struct {
	Green    map[string]bool
	Problems []string // one sentence each, for people
}

var tagPattern = regexp.MustCompile(`^ci/(green|revoked)/([0-9a-f]{40})$`)

// Count applies decision 5: a commit is green when ci/green/<sha> exists and
// peels to exactly that commit, ci/revoked/<sha> does not exist, and the commit
// is on firstParent, the branch's first-parent line. A revoked tag counts by its
// name alone, since doubt revokes. A green tag that peels to another commit is a
// problem, reported once.
func Count(tags []Tag, firstParent []string) Counting {
	onLine := make(map[string]bool, len(firstParent))
	for _, sha := range firstParent {
		onLine[sha] = true
	}
	c := Counting{Green: make(map[string]bool)}
	revoked := make(map[string]bool)
	for _, t := range tags {
		m := tagPattern.FindStringSubmatch(t.Name)
		if m == nil {
			continue
		}
		named := m[2]
		if t.Commit != named {
			c.Problems = append(c.Problems, peelProblem(t))
		}
		switch {
		case m[1] == "revoked":
			revoked[named] = true
		case t.Commit == named && onLine[named]:
			c.Green[named] = true
		}
	}
	for sha := range revoked {
		delete(c.Green, sha)
	}
	return c
}

func peelProblem(t Tag) string {
	if t.Commit == "" {
		return fmt.Sprintf("tag %s peels to no commit and is ignored; delete it", t.Name)
	}
	if strings.HasPrefix(t.Name, RevokedPrefix) {
		return fmt.Sprintf("tag %s names one commit and peels to %s; the commit it names stays revoked", t.Name, t.Commit)
	}
	return fmt.Sprintf("tag %s names one commit and peels to %s, so it is ignored; delete it and tag the commit it names", t.Name, t.Commit)
}

// Last is the newest green commit of firstParent, which is newest first.
func Last(firstParent []string, tags []Tag) (commit string, ok bool) {
	c := Count(tags, firstParent)
	for _, sha := range firstParent {
		if c.Green[sha] {
			return sha, true
		}
	}
	return "", false
}
