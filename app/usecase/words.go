package usecase

import (
	"context"
	"errors"

	"github.com/chant-bot/chant/engine"
)

// Words is what people read of an error: what was meant for them, or else only
// where an operator finds it. The text of a fault can name paths of this
// machine.
func (st *Stage) Words(ctx context.Context, err error) string {
	if told, ok := errors.AsType[*engine.Told](err); ok {
		return told.Error()
	}
	if meant := ForPeople(err); meant != nil {
		return meant.Error()
	}
	if st.Fault == nil {
		return "internal error"
	}
	return "internal error, ref " + st.Fault(ctx, err)
}
