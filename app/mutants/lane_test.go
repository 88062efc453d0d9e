package mutants

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A mutant whose killing test went to the other lane, or has another name now, would
// be taken for one that nobody notices.
func TestEveryMutantNamesTestsOfItsLane(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		if m.run == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			test, script, _ := strings.Cut(m.run, "/")
			if !m.declares(t, regexp.MustCompile(`(?m)^func (`+test+`)`)) {
				t.Errorf("no test of %s is named %s", m.killers, test)
			}
			if script == "" {
				return
			}
			lane := "script"
			if m.slow {
				lane = "slow"
			}
			file := filepath.Join(root, m.killers, "testdata", lane, strings.TrimSuffix(script, "$")+".txtar")
			if _, err := os.Stat(file); err != nil {
				t.Errorf("the script is not in this mutant's lane: %v", err)
			}
		})
	}
}

// declares tells whether a test that this mutant's lane builds matches.
func (m mutant) declares(t *testing.T, test *regexp.Regexp) bool {
	t.Helper()
	var files []string
	for dir := range strings.FieldsSeq(m.killers) {
		found, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_e2e_test.go") && !m.slow {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if test.Match(text) {
			return true
		}
	}
	return false
}
