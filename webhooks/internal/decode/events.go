package decode

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
)

// Missing is the error of a delivery without a member its event always has.
func Missing(d webhooks.Delivery, member string) error {
	return fmt.Errorf("a %s delivery without %s", d.Event, member)
}

// Moved is what a change that was opened, pushed to or retargeted comes to; from is
// the repository its head is in.
func Moved(d webhooks.Delivery, number int, head string, from int64) (engine.Event, error) {
	if from != d.Repo.ID {
		head = ""
	}
	return engine.ChangeUpdated{Repo: d.Repo, Number: number, Head: head}, nil
}

// Unused is the answer to an action nothing follows from, known or new.
func Unused(d webhooks.Delivery, why string) (engine.Event, error) {
	return engine.Ignored{Reason: strings.TrimSpace(d.Event+" "+d.Action) + ": " + why}, nil
}

// UnusedEvent is the answer to an event nothing follows from, known or new.
func UnusedEvent(d webhooks.Delivery) (engine.Event, error) {
	return engine.Ignored{Reason: fmt.Sprintf("event %s is not used", d.Event)}, nil
}

// Pushed is what a push to a full ref comes to. After is the tag object of an
// annotated tag, so it is left out; whoever handles a tag peels it itself.
func Pushed(d webhooks.Delivery, ref, before, after string) (engine.Event, error) {
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		return engine.BranchPushed{Repo: d.Repo, Branch: branch, Before: before, After: after}, nil
	}
	if tag, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
		return engine.TagChanged{Repo: d.Repo, Name: tag}, nil
	}
	if ref == "" {
		return nil, Missing(d, "ref")
	}
	return Unused(d, "neither a branch nor a tag")
}
