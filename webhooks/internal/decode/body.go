package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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
	if err := read(dec, member, nil); err != nil {
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

// read takes members of the object dec stands before to where target says. It
// reads to the end of the object unless enough says to stop.
func read(dec *jsontext.Decoder, target func(string) any, enough func() bool) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for enough == nil || !enough() {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if token.Kind() == '}' {
			return nil
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if to := target(name); to != nil {
			if err := take(value, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// next gives a wanted member away once: of members that share a name the first
// counts.
func (w Wanted) next(name string) any {
	to := w[name]
	delete(w, name)
	return to
}

func take(value jsontext.Value, target any) error {
	switch t := target.(type) {
	case Wanted:
		switch value.Kind() {
		case 'n':
			return nil
		case '{':
			return read(textDecoder(value), t.next, func() bool { return len(t) == 0 })
		}
		return errors.New("it is not an object")
	case *Present:
		*t = value.Kind() != 'n'
		return nil
	}
	err := json.Unmarshal(value, target, jsontext.AllowInvalidUTF8(true))
	if mismatch, ok := errors.AsType[*json.SemanticError](err); ok {
		// In our words: the library changes its own from one process to the next.
		return fmt.Errorf("%.32s is no %s", value, mismatch.GoType)
	}
	return err
}
