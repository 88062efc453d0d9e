package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Present is set when a member is there and not null.
type Present bool

// Wanted maps the members we want of one object to where they go: a pointer
// for a value, Wanted for an object of its own.
type Wanted map[string]any

// Body reads the whole body as JSON and takes what we want; member is where a
// member of the outermost object goes, nil for one we do not want. Bodies are
// large and we want little: what is not wanted is checked and skipped, never
// built. The error names the forge, as people write it, and the member.
func Body(forge string, body []byte, member func(name string) any) error {
	broken := func(err error) error {
		return fmt.Errorf("the body is not the JSON %s documents: %w", forge, err)
	}
	dec := textDecoder(body)
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return broken(err)
		}
		return broken(errors.New("it is not an object"))
	}
	if err := read(dec, member); err != nil {
		return broken(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return broken(errors.New("something follows the object"))
	}
	return nil
}

// textDecoder reads one text. Forges repeat no member and send UTF-8; checking
// that again for a signed body would only make strange ones undeliverable.
func textDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// read takes members of the object dec stands before to where target says, in
// one pass to its end.
func read(dec *jsontext.Decoder, target func(name string) any) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if err := take(dec, target(name.String())); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// next gives a wanted member away once: of members that share a name the first
// counts.
func (w Wanted) next(name string) any {
	to, ok := w[name]
	if ok {
		delete(w, name)
	}
	return to
}

// take reads the value dec stands before to where it goes.
func take(dec *jsontext.Decoder, target any) error {
	kind := dec.PeekKind()
	switch t := target.(type) {
	case nil:
		return skip(dec)
	case *Present:
		*t = kind != 'n'
		return skip(dec)
	case Wanted:
		if kind == '{' {
			return read(dec, t.next)
		}
		if err := skip(dec); err != nil || kind == 'n' {
			return err
		}
		return fmt.Errorf("%s: it is not an object", where(dec))
	}
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	err = json.Unmarshal(value, target, jsontext.AllowInvalidUTF8(true))
	if mismatch, ok := errors.AsType[*json.SemanticError](err); ok {
		// In our words: the library changes its own from one process to the next.
		return fmt.Errorf("%s: %.32s is no %s", where(dec), value, mismatch.GoType)
	}
	return err
}

// skip checks a value and passes over it. The body is in memory, so reading it whole
// costs no copy, and half of what going through its tokens does.
func skip(dec *jsontext.Decoder) error {
	_, err := dec.ReadValue()
	return err
}

// where is the member dec has just read, "repository.id".
func where(dec *jsontext.Decoder) string {
	return strings.Join(slices.Collect(dec.StackPointer().Tokens()), ".")
}
