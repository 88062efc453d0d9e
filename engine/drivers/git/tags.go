package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxTagDepth bounds tags of tags.
const maxTagDepth = 8

// CITags lists the tags under ci/ that are here, sorted by name. A tag that
// peels to no commit is listed with an empty Commit (decision 5 reports it).
func (c *Clone) CITags(ctx context.Context) ([]TagRef, error) {
	out, err := c.git(ctx, "for-each-ref", "--format=%(objectname) %(objecttype) %(refname)", "refs/tags/ci/")
	if err != nil {
		return nil, fmt.Errorf("listing ci tags: %w", err)
	}
	var tags []TagRef
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("listing ci tags: unexpected line %q", line)
		}
		tag := TagRef{Name: strings.TrimPrefix(fields[2], "refs/tags/"), Object: fields[0]}
		if err := c.peel(ctx, &tag, fields[1]); err != nil {
			return nil, fmt.Errorf("reading tag %s: %w", tag.Name, err)
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

// peel fills in what the tag's object says and where it leads.
func (c *Clone) peel(ctx context.Context, tag *TagRef, kind string) error {
	at := tag.Object
	for depth := 0; kind == "tag" && depth < maxTagDepth; depth++ {
		o, err := c.cat.contents(ctx, at)
		if err != nil {
			return err
		}
		t, err := parseTag(string(o.data))
		if err != nil {
			return err
		}
		if depth == 0 {
			tag.Annotated, tag.Message, tag.At = true, t.message, t.at
		}
		at, kind = t.object, t.kind
	}
	if kind == "commit" {
		tag.Commit = at
	}
	return nil
}

type tagObject struct {
	object, kind, message string
	at                    time.Time
}

func parseTag(text string) (tagObject, error) {
	head, message, _ := strings.Cut(text, "\n\n")
	t := tagObject{message: message}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "object":
			t.object = value
		case "type":
			t.kind = value
		case "tagger":
			t.at = signatureTime(value)
		}
	}
	if t.object == "" || t.kind == "" {
		return tagObject{}, errors.New("tag object is malformed")
	}
	return t, nil
}

// signatureTime reads the time of "Name <email> seconds zone", zero when it
// can't be read.
func signatureTime(signature string) time.Time {
	fields := strings.Fields(signature[strings.LastIndexByte(signature, '>')+1:])
	if len(fields) == 0 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// PushTag makes an annotated tag on the remote, and here once it stands there: what
// looks at the tags of this clone meanwhile sees none that the remote may yet
// refuse. A name that is taken is ErrTagExists: nothing is ever moved or forced
// (pr-loop §4.3).
func (c *Clone) PushTag(ctx context.Context, name, commit, message string, at time.Time) error {
	oid, err := c.tagObject(ctx, name, commit, message, at)
	if err != nil {
		return fmt.Errorf("tagging %s: %w", name, err)
	}
	ref := "refs/tags/" + name
	err = c.PushRef(ctx, oid, ref, "")
	if refused, ok := errors.AsType[*Rejected](err); ok && refused.Stale {
		return fmt.Errorf("tagging %s: %w", name, ErrTagExists)
	}
	if err != nil {
		return err
	}
	err = c.MoveRefs(ctx, Move{Ref: ref, New: oid})
	if errors.Is(err, ErrRefMoved) {
		return nil // a fetch was faster, and brings it from now on
	}
	return err
}

// tagObject writes the object of an annotated tag, which nothing names yet.
func (c *Clone) tagObject(ctx context.Context, name, commit, message string, at time.Time) (oid string, err error) {
	sha, err := c.Resolve(ctx, commit)
	if err != nil {
		return "", err
	}
	if _, err := c.git(ctx, "check-ref-format", "refs/tags/"+name); err != nil {
		return "", fmt.Errorf("not a tag name: %w", err)
	}
	who, err := c.Committer()
	if err != nil {
		return "", err
	}
	return c.writeObject("tag", fmt.Appendf(nil, "object %s\ntype commit\ntag %s\ntagger %s\n\n%s",
		sha, name, Signature{Person: who, At: at}.line(), message))
}
