// Package cli hosts the stages on a command line: in a person's checkout or a
// CI job, without server and database. It opens the checkout, gathers forge and
// credentials from the environment, calls the use cases, and leaves report
// files, text and exit codes behind. It decides nothing a stage decides.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/drivers/lease"
)

// Host is the process a command runs in. Results go to Stdout, everything else
// to Stderr.
type Host struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Dir            string   // working directory, absolute
	Environ        []string // KEY=VALUE
	Version        string   // of this program
	Now            func() time.Time
}

// The exit codes of every command.
const (
	Done    = 0
	Failed  = 1
	Misused = 2 // the command line itself
	Refused = 3 // refused, or waiting for somebody
)

// ExitError ends a command with a code. Without Err everything was said already.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Misuse is an error of the command line, exit code 2.
func Misuse(format string, args ...any) error {
	return &ExitError{Code: Misused, Err: fmt.Errorf(format, args...)}
}

// NotBuilt refuses by name what a later version does.
func NotBuilt(what, instead string) error {
	if instead != "" {
		instead = "; " + instead
	}
	return Misuse("not built yet: %s%s", what, instead)
}

// CodeOf is the exit code of what a command returned.
func CodeOf(err error) int {
	var exit *ExitError
	var refusal *usecase.Refusal
	var held *lease.Held
	switch {
	case err == nil:
		return Done
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &refusal), errors.As(err, &held):
		return Refused
	}
	return Failed
}

// Report writes an error for people, unless it was said already.
func (h *Host) Report(err error) {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) && exit.Err == nil {
		return
	}
	text := note.Plain(err.Error())
	if invalid, ok := errors.AsType[*config.Invalid](err); ok {
		// It names keys such as privateKey and holds no value; what hides
		// secrets by the name before them would hide what is wrong.
		text = note.Visible(invalid.Error())
	}
	_, _ = fmt.Fprintln(h.Stderr, "chant: "+text)
}

// env reads one variable; unset and empty are the same.
func (h *Host) env(name string) string {
	value := ""
	for _, pair := range h.Environ {
		if k, v, ok := strings.Cut(pair, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// path makes a path of the command line absolute.
func (h *Host) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(h.Dir, p)
}

// line writes text that may hold foreign parts, so that it cannot steer a
// terminal.
func (h *Host) line(w io.Writer, text string) {
	_, _ = fmt.Fprintln(w, note.Plain(text))
}

// progress says on standard error what is going on.
func (h *Host) progress(line string) { h.line(h.Stderr, line) }

func (h *Host) warnf(format string, args ...any) {
	h.line(h.Stderr, "warning: "+fmt.Sprintf(format, args...))
}

// fault tells the person at the command line what a report, which others read,
// only refers to.
func (h *Host) fault(_ context.Context, err error) (ref string) {
	ref = uuid.NewString()[:8]
	h.warnf("internal error, ref %s: %v", ref, err)
	return ref
}

// sayf writes one line of a result.
func (h *Host) sayf(format string, args ...any) { h.line(h.Stdout, fmt.Sprintf(format, args...)) }

// json writes a result for machines: 2 spaces and a final LF, nothing escaped
// that JSON does not ask to.
func (h *Host) json(v any) error {
	enc := json.NewEncoder(h.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
