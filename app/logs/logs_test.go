package logs_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/chant-bot/chant/app/logs"
)

// late is found out after the scope begins.
type late struct{ run int64 }

func (l *late) LogValue() slog.Value { return slog.Int64Value(l.run) }

func TestLinesSayWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(logs.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})))
	line := func(ctx context.Context) string {
		out.Reset()
		log.InfoContext(ctx, "x", "b", 2)
		return strings.TrimSpace(out.String())
	}
	run := &late{}
	outer := logs.With(t.Context(), slog.String(logs.Repository, "acme/infra"), slog.String(logs.Delivery, ""), slog.Any(logs.Run, run))
	inner := logs.With(outer, slog.Int(logs.Change, 7))
	logs.Add(inner, slog.String("env", "prod"))
	logs.Add(t.Context(), slog.String("lost", "nothing is open"))
	for _, c := range []struct{ got, want string }{
		{line(t.Context()), "msg=x b=2"},
		{line(outer), "msg=x repository=acme/infra b=2"},
		{line(inner), "msg=x repository=acme/infra change=7 env=prod b=2"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	run.run = 4
	if got, want := line(inner), "msg=x repository=acme/infra run=4 change=7 env=prod b=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
