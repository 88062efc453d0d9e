package usecase

import (
	"strings"
	"sync/atomic"
	"testing"
)

// A panic in one of several steps reaches whoever asked for them, which alone can say
// what becomes of the run, and no earlier than the others ended.
func TestAPanicInOneStepReachesTheCallerOnceTheOthersEnded(t *testing.T) {
	t.Parallel()
	var ended atomic.Int64
	defer func() {
		fault, _ := recover().(error)
		if fault == nil || !strings.Contains(fault.Error(), "third") || !strings.Contains(fault.Error(), "each_test.go") || ended.Load() != 9 {
			t.Errorf("%d others ended, and the caller met %v", ended.Load(), fault)
		}
	}()
	each(2, make([]struct{}, 10), func() func(struct{}) {
		var started atomic.Int64
		return func(struct{}) {
			if started.Add(1) == 3 {
				panic("third")
			}
			ended.Add(1)
		}
	}())
}
