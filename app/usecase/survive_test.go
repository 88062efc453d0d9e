package usecase

import (
	"errors"
	"strings"
	"testing"
)

// A run that meets a fault of the program each time is given up like any other that
// can't be carried on, which takes an error.
func TestAPanicOfAStageIsAnErrorThatSaysWhere(t *testing.T) {
	t.Parallel()
	var nowhere map[string]int
	done, err := Survive(func() (int, error) {
		nowhere["x"] = 1
		return 1, nil
	})
	if f, ok := errors.AsType[*fault](err); !ok || done != 0 || !strings.Contains(f.Error(), "nil map") || !strings.Contains(f.Error(), "survive_test.go") {
		t.Errorf("it came to %d, %v", done, err)
	}
	_, err = Survive(func() (int, error) {
		each(1, []int{1}, func(int) { nowhere["x"] = 1 })
		return 1, nil
	})
	if err == nil || strings.Count(err.Error(), "a fault of the program") != 1 {
		t.Errorf("a panic of one step of several came to %v", err)
	}
	refused := errors.New("refused")
	if done, err := Survive(func() (int, error) { return 2, refused }); done != 2 || !errors.Is(err, refused) {
		t.Errorf("without a panic it came to %d, %v", done, err)
	}
}
