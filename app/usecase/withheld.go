package usecase

import (
	"bytes"
	"encoding/json"

	"github.com/chant-bot/chant/comments/redact"
	"github.com/chant-bot/chant/engine/changeset"
)

// Withheld names what in a document the redaction net fires on, "" when nothing
// does. Such a document is not written (approvalFiles), so an approval of it
// covers no merge, and whoever approved is told.
func Withheld(doc *changeset.Document) string {
	if doc == nil {
		return ""
	}
	if text := string(doc.JSON()); redact.Text(text) == text {
		return ""
	}
	for _, e := range doc.Entries {
		for _, a := range e.Attributes {
			if fires(a) {
				return e.Address + ", " + a.Path
			}
		}
		if fires(e) {
			return e.Address
		}
	}
	return "the plan"
}

// fires tells whether the net hides something in a part of a document as the
// document shows it.
func fires(part any) bool {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(part) == nil && redact.Text(text.String()) != text.String()
}
