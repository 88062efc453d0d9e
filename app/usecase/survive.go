package usecase

import (
	"fmt"
	"runtime/debug"
)

// fault is a panic, and where it was.
type fault struct {
	value any
	stack []byte
}

// Error implements error. It is for the log: people are told where to look.
func (f *fault) Error() string {
	return fmt.Sprintf("a fault of the program: %v\n%s", f.value, f.stack)
}

// Survive gives a panic as an error: it is tried again, said and given up as any other,
// and what else the server does goes on. What panics in a goroutine of its own ends the
// process instead, and with it every other run.
func Survive[T any](stage func() (T, error)) (out T, err error) {
	defer func() {
		p := recover()
		if met, ok := p.(*fault); ok { // what each handed on: where it was is known
			err = met
		} else if p != nil {
			err = &fault{value: p, stack: debug.Stack()}
		}
	}()
	return stage()
}
