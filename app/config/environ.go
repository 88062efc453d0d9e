package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// variables are the pairs of an environment by name; of two the last counts.
func variables(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		out[name] = value
	}
	return out
}

// ProgramVariables are the CHANT_ variables that are no settings of the server:
// flags of commands, the forge's token, and who commits (pr-loop §5.10).
func ProgramVariables() []string {
	return []string{
		"CHANT_CONFIG", "CHANT_ENV", "CHANT_FORGE_TOKEN", "CHANT_LIFECYCLE_COMMITTER_EMAIL",
		"CHANT_LIFECYCLE_COMMITTER_NAME", "CHANT_PASS_ENV", "CHANT_PR_ENV_CREDENTIALS", "CHANT_REPORT_TOKEN",
		"CHANT_RESUME_KEY", "CHANT_WRITABLE",
	}
}

// serviceVariable is what Kubernetes sets in every container beside a service
// that is called chant. Nobody wrote those by mistake.
var serviceVariable = regexp.MustCompile(`^CHANT_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\w+)?)$`)

// strangers refuses a CHANT_ variable nobody reads, as an unknown key of the file
// is refused: it is a setting that somebody believes to be in force.
func (c *Config) strangers(env map[string]string) []error {
	known := knownVariables()
	c.secrets(func(_ string, s *Secret) {
		if name, ok := strings.CutPrefix(s.text, "env:"); ok {
			known = append(known, name)
		}
	})
	var errs []error
	for name, value := range env {
		if !strings.HasPrefix(name, "CHANT_") || value == "" || slices.Contains(known, name) || serviceVariable.MatchString(name) {
			continue
		}
		errs = append(errs, fmt.Errorf("environment variable %s: there is no such setting, and no secret is read from it%s", name, meant(name, known)))
	}
	return sorted(errs)
}

func knownVariables() []string {
	known := ProgramVariables()
	for _, f := range Fields() {
		known = append(known, f.Env)
	}
	return known
}

// slip is how many letters off a variable may be to be taken for a mistyped one.
const slip = 2

// Mistyped refuses variables that are nearly ones we read. It is for commands
// without a configuration, beside which a variable of any other name may be a
// secret that the server's refers to.
func Mistyped(environ []string) error {
	known := knownVariables()
	var errs []error
	for name, value := range variables(environ) {
		near := func(k string) bool { return edits(name, k) <= slip }
		if strings.HasPrefix(name, "CHANT_") && value != "" && !slices.Contains(known, name) && slices.ContainsFunc(known, near) {
			errs = append(errs, fmt.Errorf("nothing reads the environment variable %s%s", name, meant(name, known)))
		}
	}
	return errors.Join(sorted(errs)...)
}

// meant asks after the name that takes the fewest edits to become this one, of
// equals the first, unless more than half of it would change.
func meant(name string, names []string) string {
	closest := slices.MinFunc(names, func(a, b string) int { return edits(name, a) - edits(name, b) })
	if edits(name, closest) > len(name)/2 {
		return ""
	}
	return "; did you mean " + closest + "?"
}

// edits is the Levenshtein distance of two names, letters of either case alike.
func edits(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
