// Package logs gives every line of the log what it is about: what a job or a
// delivery says of itself once is on all lines that are written under it.
package logs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// Keys of what lines are about. A line that concerns one of these has it.
const (
	Delivery   = "delivery"   // the forge's id
	Repository = "repository" // owner/name
	Change     = "change"     // number of the pull request
	Run        = "run"        // of an apply, as in the address of its page
)

type scopeKey struct{}

// scope is what the lines under one context are about.
type scope struct {
	mu    sync.Mutex
	attrs []slog.Attr
}

// With says what the lines under the returned context are about, beside what
// those under ctx are. A value may be a slog.LogValuer, which is asked when a
// line is written.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	return context.WithValue(ctx, scopeKey{}, &scope{attrs: append(of(ctx), attrs...)})
}

// Add says so of what was found out since With, for the lines from now on.
func Add(ctx context.Context, attrs ...slog.Attr) {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.attrs = append(s.attrs, attrs...)
	}
}

func of(ctx context.Context) []slog.Attr {
	s, ok := ctx.Value(scopeKey{}).(*scope)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attrs)
}

// Handler writes lines through next with what they are about. What has no value
// is left out.
func Handler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	for _, a := range of(ctx) {
		if a.Value = a.Value.Resolve(); said(a.Value) {
			line.AddAttrs(a)
		}
	}
	r.Attrs(func(a slog.Attr) bool { line.AddAttrs(a); return true })
	return h.Handler.Handle(ctx, line)
}

// said tells a value from none: an empty text, 0, nil.
func said(v slog.Value) bool {
	return !v.Equal(slog.Value{}) && !v.Equal(slog.StringValue("")) && !v.Equal(slog.Int64Value(0))
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
