package settle

import (
	"context"
	"strings"
	"testing"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// answering is a forge with one comment, and keeps the replies to it.
type answering struct {
	forges.Forge
	comment forges.Comment
	replies []string
}

func (f *answering) Comment(context.Context, engine.Repo, engine.CommentRef) (forges.Comment, error) {
	return f.comment, nil
}

func (*answering) Self(context.Context) (engine.Actor, error) {
	return engine.Actor{Login: "chant[bot]", ID: 1}, nil
}

func (*answering) React(context.Context, engine.Repo, engine.CommentRef, forges.Reaction) error {
	return nil
}

func (f *answering) FindReply(_ context.Context, _ engine.Repo, _ engine.CommentRef, marker string) (forges.Note, error) {
	for _, reply := range f.replies {
		if strings.HasPrefix(reply, marker) {
			return forges.Note{ID: 1}, nil
		}
	}
	return forges.Note{}, forges.ErrNotFound
}

func (f *answering) Reply(_ context.Context, _ engine.Repo, _ engine.CommentRef, body string) (forges.Note, error) {
	f.replies = append(f.replies, body)
	return forges.Note{ID: 1}, nil
}

// Who commented a command is told once that it cannot be answered yet; nobody else is.
func TestACommandThatCannotBeAnsweredSaysSoOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		comment forges.Comment
		want    int
	}{
		"a command":          {forges.Comment{Body: "chant plan", Author: engine.Actor{ID: 2}}, 1},
		"something else":     {forges.Comment{Body: "looks good", Author: engine.Actor{ID: 2}}, 0},
		"a bot":              {forges.Comment{Body: "chant plan", Author: engine.Actor{ID: 3, Bot: true}}, 0},
		"what we said there": {forges.Comment{Body: "chant plan", Author: engine.Actor{ID: 1}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forge := &answering{comment: tt.comment}
			for range 2 {
				if err := (&Commander{}).Broken(t.Context(), &usecase.Site{Forge: forge}, engine.CommentRef{}, "job-7"); err != nil {
					t.Fatal(err)
				}
			}
			if len(forge.replies) != tt.want || tt.want > 0 && !strings.Contains(forge.replies[0], "Reference `job-7`") {
				t.Errorf("answered %q, want %d", forge.replies, tt.want)
			}
		})
	}
}
