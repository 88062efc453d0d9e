package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

// maxInput bounds one file of the change-set commands.
const maxInput = 256 << 20

// input reads a file of the command line, or standard input for "-".
func (h *Host) input(path string) ([]byte, error) {
	in, shown := h.Stdin, "standard input"
	if path != "-" {
		f, err := os.Open(h.path(path))
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in, shown = f, path
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", shown, err)
	}
	if len(data) > maxInput {
		return nil, fmt.Errorf("reading %s: it is larger than %d bytes", shown, maxInput)
	}
	return data, nil
}

// shownName is a file of the command line as errors name it.
func shownName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// PartOptions are those of `chant change-set part`.
type PartOptions struct {
	Planner      string `default:"terraform" enum:"terraform,tofu,choudoufu" help:"Planner that made the plan: ${enum}."`
	Member       string `required:"" placeholder:"MEMBER" help:"Change-set member the plan becomes."`
	Scope        string `placeholder:"SCOPE" help:"Estate or workspace it plans into."`
	NativeDigest string `placeholder:"DIGEST" help:"The planner's own hash of the plan."`
	File         string `arg:"" name:"plan" help:"Output of show -json of a saved plan; - is standard input."`
}

// Part prints the change-set part of a plan.
func Part(h *Host, o PartOptions) error {
	data, err := h.input(o.File)
	if err != nil {
		return err
	}
	plan, err := digest.Decode(data)
	if err != nil {
		return fmt.Errorf("%s: %w", shownName(o.File), err)
	}
	part, err := terraform.Part(o.Member, plan, terraform.Options{Planner: o.Planner, Scope: o.Scope, NativeDigest: o.NativeDigest})
	if err != nil {
		return fmt.Errorf("%s: %w", shownName(o.File), err)
	}
	return h.json(part)
}

// ComposeOptions are those of `chant change-set compose`.
type ComposeOptions struct {
	Files []string `arg:"" optional:"" name:"part" help:"Files that hold a part or a list of parts; - is standard input. None makes the empty document."`
}

// Compose prints the document that joins parts.
func Compose(h *Host, o ComposeOptions) error {
	var parts []changeset.Part
	for _, file := range o.Files {
		data, err := h.input(file)
		if err != nil {
			return err
		}
		some, err := parseParts(data)
		if err != nil {
			return fmt.Errorf("%s: %w", shownName(file), err)
		}
		parts = append(parts, some...)
	}
	doc, err := changeset.Compose(parts, "")
	if err != nil {
		return err
	}
	_, err = h.Stdout.Write(doc.JSON())
	return err
}

// parseParts reads one part or a list of them.
func parseParts(data []byte) ([]changeset.Part, error) {
	v, err := digest.Decode(data)
	if err != nil {
		return nil, err
	}
	if v.Kind() != digest.Array {
		part, err := changeset.ParsePart(data)
		return []changeset.Part{part}, err
	}
	parts := make([]changeset.Part, 0, v.Len())
	for i := range v.Len() {
		text, err := v.At(i).MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		part, err := changeset.ParsePart(text)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// VerifyOptions are those of `chant change-set verify`.
type VerifyOptions struct {
	File string `arg:"" name:"document" help:"Change-set document; - is standard input."`
}

type verified struct {
	Verified bool          `json:"verified"`
	Digest   digest.Digest `json:"digest"` // as the document says
}

// Verify recomputes the digest of a document. Exit code 1 when it is not the one
// the document names.
func Verify(h *Host, o VerifyOptions) error {
	data, err := h.input(o.File)
	if err != nil {
		return err
	}
	doc, err := changeset.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", shownName(o.File), err)
	}
	out := verified{Verified: doc.Verify(), Digest: doc.Digest}
	if err := h.json(out); err != nil || out.Verified {
		return err
	}
	return &ExitError{Code: Failed, Err: fmt.Errorf("%s: the digest is not the one of what the document says", shownName(o.File))}
}

// DigestOptions are those of `chant change-set digest`.
type DigestOptions struct {
	Kind string `required:"" placeholder:"KIND" help:"Kind of subject, such as change-set or lifecycle-plan."`
	File string `arg:"" name:"subject" help:"JSON of the subject; - is standard input. Empty input is an absent subject."`
}

type digested struct {
	Kind   string        `json:"kind"`
	Digest digest.Digest `json:"digest"`
}

// Digest prints the digest of a subject (change-set §1).
func Digest(h *Host, o DigestOptions) error {
	data, err := h.input(o.File)
	if err != nil {
		return err
	}
	out := digested{Kind: o.Kind}
	if len(bytes.TrimSpace(data)) == 0 {
		out.Digest, err = digest.Of(o.Kind, digest.Value{})
	} else {
		out.Digest, err = digest.OfBytes(o.Kind, data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", shownName(o.File), err)
	}
	return h.json(out)
}
