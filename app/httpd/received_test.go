package httpd

import (
	"strings"
	"testing"
)

func TestABodyIsShownAValueALineAndCutBetweenLines(t *testing.T) {
	t.Parallel()
	long := `{"a":"` + strings.Repeat("x", maxBody-20) + `","token":"glpat-0123456789abcdefghij"}`
	for name, c := range map[string]struct {
		body, ends string
		leftOut    bool
	}{
		"nothing":            {"", "", false},
		"JSON":               {`{"a":1,"b":[2]}`, "  \"b\": [\n    2\n  ]\n}", false},
		"no JSON":            {"payload=%7B", "payload=%7B", false},
		"a long one":         {long, "xx\",\n", true},
		"one line too long":  {strings.Repeat("x", maxBody+1), "", true},
		"as long as allowed": {strings.Repeat("x", maxBody), "xx", false},
	} {
		text, leftOut := bodyText([]byte(c.body))
		if !strings.HasSuffix(text, c.ends) || leftOut > 0 != c.leftOut || len(text) > maxBody || strings.Contains(text, "glpat") {
			t.Errorf("%s: %d bytes that end in %q, %d left out", name, len(text), text[max(0, len(text)-40):], leftOut)
		}
	}
}
