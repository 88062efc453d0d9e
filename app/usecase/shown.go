package usecase

import (
	"encoding/json"
	"fmt"

	"github.com/chant-bot/chant/comments/redact"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/record"
)

// Shown is what an approver saw beside the document: each member's source and
// what its plan executes. It stands on the ledger by the sources' hash, which
// the approval's line carries, so that losing the database loses no approval.
type Shown struct {
	Sources map[string]string             `json:"sources"`
	Code    map[string]terraform.RunsCode `json:"code"`
}

func shownPath(prefix, hash string) (string, error) {
	d, err := digest.Parse(hash)
	if err != nil {
		return "", fmt.Errorf("sources hash %q: %w", hash, err)
	}
	return prefix + "_sources/" + d.Hex()[:2] + "/" + d.Hex() + ".json", nil
}

// readShown loads what stands under hash. What does not hash to its own name is
// not there: the source then counts as another one, which only costs approvals.
func readShown(snap *ledger.Snapshot, prefix, hash string) (Shown, bool, error) {
	path, err := shownPath(prefix, hash)
	if err != nil {
		return Shown{}, false, nil //nolint:nilerr // as said above
	}
	data, found, err := snap.Read(path)
	if err != nil || !found {
		return Shown{}, false, err
	}
	var s Shown
	if err := json.Unmarshal(data, &s); err != nil {
		return Shown{}, false, nil //nolint:nilerr // as said above
	}
	if cover.SourcesHash(s.Sources) != hash {
		return Shown{}, false, nil
	}
	return s, true, nil
}

// ApprovalFiles are the files written with an approval of doc: the document and
// what was shown with it. A document on which the redaction net fires is not
// written, and no merge then counts as approved by it (soundness).
func ApprovalFiles(prefix string, doc *changeset.Document, s Shown) ([]ledger.File, string, error) {
	hash := cover.SourcesHash(s.Sources)
	path, err := shownPath(prefix, hash)
	if err != nil {
		return nil, "", err
	}
	body, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, "", fmt.Errorf("writing what was shown: %w", err)
	}
	files := []ledger.File{{Path: path, Content: append(body, '\n')}}
	if text := doc.JSON(); redact.Text(string(text)) == string(text) {
		files = append(files, ledger.File{Path: record.DocumentPath(prefix, doc.Digest), Content: text})
	}
	return files, hash, nil
}
