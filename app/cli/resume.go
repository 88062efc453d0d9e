package cli

import (
	"context"
	"errors"
	"os"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/drivers/sealed"
	"github.com/chant-bot/chant/engine/resume"
)

// ResumeOptions say where an apply keeps how far it came.
type ResumeOptions struct {
	Resume    string `placeholder:"FILE" help:"Resume record: an apply that failed part way is carried on from it, under the approval it had, and how far this one comes is written to it. It is sealed with a key."`
	ResumeKey string `placeholder:"SOURCE" help:"Where the key of the resume record comes from: file:PATH, env:NAME or command:LINE. Default: env:CHANT_RESUME_KEY."`
}

// resumeKey is the variable that holds the key where no other source is named.
const resumeKey = "CHANT_RESUME_KEY"

// jobRecord is where a CI job keeps the record, for its cache and never for an
// artifact (pr-loop §5.12, §11).
const jobRecord = ".chant/pr-resume/pr-apply.json"

// inJob gives a job that has a key the place of its record.
func (o ResumeOptions) inJob(h *Host) ResumeOptions {
	if o.Resume == "" && (o.ResumeKey != "" || h.env(resumeKey) != "") {
		o.Resume = jobRecord
	}
	return o
}

// What sealed resume records are told from other sealed files by.
const (
	applyRecord   = "resume record of pr-apply"
	promoteRecord = "resume record of promote"
)

// keptRecord is the file of a resume record, as a journal of the apply. Without a
// path it keeps nothing.
type keptRecord struct {
	next   usecase.Journal
	path   string
	key    sealed.Key
	of     string         // what it is a record of
	record *resume.Record // as read, nil for none
}

// keepRecord reads the record that is there. One that can't be read counts as none
// and is warned of; that its file can't be reached is an error, since how far this
// apply comes could not be written either.
func (h *Host) keepRecord(ctx context.Context, o ResumeOptions, of string) (*keptRecord, error) {
	if o.Resume == "" {
		return &keptRecord{}, nil
	}
	from := o.ResumeKey
	if from == "" {
		from = "env:" + resumeKey
	}
	key, err := sealed.Source{Ref: from, Dir: h.Dir, Environ: h.Environ}.Key(ctx)
	if err != nil {
		return nil, Misuse("--resume keeps a record that is never written in plain text, and needs a key for it (--resume-key): %w", err)
	}
	kept := &keptRecord{path: h.path(o.Resume), key: key, of: of}
	text, err := key.Read(kept.path, of)
	broken, isBroken := errors.AsType[*sealed.BrokenError](err)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return kept, nil
	case isBroken:
		h.warnf("the resume record is not used: %s. Everything is planned and decided anew", broken)
		return kept, nil
	case err != nil:
		return nil, err
	}
	r, err := resume.Parse(text)
	if err != nil {
		h.warnf("the resume record is not used: %s: %v. Everything is planned and decided anew", o.Resume, err)
		return kept, nil
	}
	kept.record = &r
	return kept, nil
}

// Save implements usecase.Journal: the record is there before the first step
// starts, and again as each one settles and at the end.
func (k *keptRecord) Save(ctx context.Context, a *usecase.Apply) error {
	if k.path != "" && len(a.State.Members) > 0 {
		text, err := a.ResumeRecord().JSON()
		if err != nil {
			return err
		}
		if err := k.key.Write(k.path, k.of, text); err != nil {
			return err
		}
	}
	return k.next.Save(ctx, a)
}
