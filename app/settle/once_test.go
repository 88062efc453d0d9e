package settle

import (
	"context"
	"errors"
	"testing"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// commented is a forge that keeps the comments of pull requests, and loses the
// answer to the first where it is told to.
type commented struct {
	forges.Forge
	on     map[int][]string
	losing bool
}

func (f *commented) FindNote(_ context.Context, _ engine.Repo, number int, _ string) (forges.Note, error) {
	if len(f.on[number]) == 0 {
		return forges.Note{}, forges.ErrNotFound
	}
	return forges.Note{ID: 1, Body: f.on[number][0]}, nil
}

func (f *commented) CreateNote(_ context.Context, _ engine.Repo, number int, body string) (forges.Note, error) {
	f.on[number] = append(f.on[number], body)
	if f.losing {
		f.losing = false
		return forges.Note{}, errors.New("502")
	}
	return forges.Note{ID: 1, Body: body}, nil
}

// interleaved lets another pull request be settled after it was read that nothing was
// said, and before that is claimed.
type interleaved struct {
	saidBefore
	meanwhile func()
}

func (b *interleaved) ClaimPost(ctx context.Context, repo engine.Repo, target string, p Post) (bool, error) {
	if do := b.meanwhile; do != nil {
		b.meanwhile = nil
		do()
	}
	return b.saidBefore.ClaimPost(ctx, repo, target, p)
}

// Two pull requests that carry the same commit are settled side by side, and one of
// them calls; one whose answer was lost finds what it wrote, and no other writes it.
func TestTwoPullRequestsCallOnceBetweenThem(t *testing.T) {
	t.Parallel()
	for name, losing := range map[string]bool{"answered": false, "the answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forge := &commented{on: map[int][]string{}, losing: losing}
			site := &usecase.Site{Forge: forge}
			posts := &interleaved{saidBefore: saidBefore{}}
			p := &Poster{Posts: posts}
			say := func(number int) error { return p.Once(t.Context(), site, number, "<!-- m -->", "act now") }
			posts.meanwhile = func() {
				if err := say(2); (err != nil) != losing {
					t.Error(err)
				}
			}
			for _, number := range []int{1, 1, 2, 1} {
				if err := say(number); err != nil {
					t.Error(err)
				}
			}
			if len(forge.on[1]) != 0 || len(forge.on[2]) != 1 {
				t.Errorf("said %q on the first, %q on the second", forge.on[1], forge.on[2])
			}
		})
	}
}
