package usecase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
)

func TestOnlyWhatIsMeantForPeopleIsShownThem(t *testing.T) {
	t.Parallel()
	fault := errors.New("open /var/lib/chant/runs/apply-1/plan.tfplan: no such file or directory")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a planner's own words":            {fmt.Errorf("reading %w", engine.Tell(errors.New("root app: Error: no such variable"))), "root app: Error: no such variable"},
		"a refusal":                        {fmt.Errorf("planning: %w", &Refusal{Message: "declare it"}), "declare it"},
		"no declaration":                   {project.ErrNoDeclaration, project.ErrNoDeclaration.Error()},
		"a fault":                          {fault, "internal error, ref f-1"},
		"a fault beside a planner's words": {fmt.Errorf("%w: %w", fault, engine.Tell(errors.New("root app failed"))), "root app failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept []error
			st := &Stage{Fault: func(_ context.Context, err error) string {
				kept = append(kept, err)
				return fmt.Sprintf("f-%d", len(kept))
			}}
			if got := st.Words(t.Context(), tt.err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if internal := strings.HasPrefix(tt.want, "internal"); internal != (len(kept) == 1) {
				t.Errorf("kept %v", kept)
			}
		})
	}
}
