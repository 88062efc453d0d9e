package queue

import (
	"context"
	"fmt"

	"github.com/riverqueue/river/riverdriver"
)

// topicInsert is the queue's word for jobs that were inserted.
const topicInsert = "river_insert"

// wakes tells the queues of this process to look for jobs when something was
// committed that may have queued one. A job would wait for the next poll otherwise,
// at each step on its way.
type wakes struct {
	committed <-chan struct{}
	queues    []string
	due       []string // still to be told of the last commit
}

// WaitForNotification implements riverdriver.Listener. It is called by one at a
// time.
func (w *wakes) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	for len(w.due) == 0 {
		select {
		case <-w.committed:
			w.due = w.queues
		case <-ctx.Done():
			return nil, ctx.Err() //nolint:wrapcheck // the queue tells its own cancellation by it
		}
	}
	name := w.due[0]
	w.due = w.due[1:]
	return &riverdriver.Notification{Topic: topicInsert, Payload: fmt.Sprintf(`{"queue": %q}`, name)}, nil
}

// The rest of riverdriver.Listener: there is no connection.

// Connect implements riverdriver.Listener.
func (*wakes) Connect(context.Context) error { return nil }

// Close implements riverdriver.Listener.
func (*wakes) Close(context.Context) error { return nil }

// Listen implements riverdriver.Listener: of other topics nothing is told.
func (*wakes) Listen(context.Context, string) error { return nil }

// Unlisten implements riverdriver.Listener.
func (*wakes) Unlisten(context.Context, string) error { return nil }

// Ping implements riverdriver.Listener.
func (*wakes) Ping(context.Context) error { return nil }

// Schema implements riverdriver.Listener.
func (*wakes) Schema() string { return "" }

// SetAfterConnectExec implements riverdriver.Listener.
func (*wakes) SetAfterConnectExec(string) {}
