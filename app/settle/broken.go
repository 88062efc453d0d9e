package settle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// Broken says on a commit that a stage cannot run for a reason that is not the
// author's, with what finds it in the log. The job is tried again, and its
// success replaces this.
func (s *Settler) Broken(ctx context.Context, site *usecase.Site, sha, branch, stage, ref string) error {
	b, _, err := site.BoundNow(ctx, branch)
	if err != nil {
		return unlessGone(err)
	}
	context := stage
	if stage == StageRecord {
		context = project.StageApply
		if err := s.noteTrouble(ctx, site, branch, sha); err != nil {
			return err
		}
	}
	return s.sayEverywhere(ctx, site, sha, context, b.Places(branch, s.DefaultEnv), forges.StatusFailure,
		fmt.Sprintf("%s cannot run: internal error, ref %s; it is tried again", stage, ref))
}

// StageRecord is recording merges; its trouble shows in the apply's context.
const StageRecord = "record"

// Broken says to who commented that there is no answer yet, for a reason that is not
// theirs, with what finds it in the log. The comment is read again, and answered then.
func (c *Commander) Broken(ctx context.Context, site *usecase.Site, ref engine.CommentRef, reference string) error {
	comment, err := site.Forge.Comment(ctx, site.Repo, ref)
	if errors.Is(err, forges.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	self, err := site.Forge.Self(ctx)
	if err != nil {
		return err
	}
	parsed := command.Parse(comment.Body, strings.TrimSuffix(self.Login, "[bot]"))
	if len(parsed.Commands) == 0 || comment.Author.Bot || comment.ViaApp || ours(site, comment, self) {
		return nil
	}
	marker := fmt.Sprintf(ourMark+"trouble:%s-%d -->", ref.Kind, ref.ID)
	return c.react(ctx, site, comment, forges.Seen, marker, note.Refusal(note.Refused{Kind: note.Internal, Ref: reference}))
}
