package github

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/forges"
)

// typed maps go-github's errors to those of forges. Rate limits come typed
// from the transport already; the SDK's own is mapped too, for it refuses
// locally once an answer said that nothing remains.
func typed(r request, err error) error {
	var limited *forges.RateLimited
	var primary *gogithub.RateLimitError
	var refused *gogithub.ErrorResponse
	switch {
	case errors.As(err, &limited):
		return fmt.Errorf("%s: %w", r.what, limited)
	case errors.As(err, &primary):
		return fmt.Errorf("%s: %w", r.what, &forges.RateLimited{Until: primary.Rate.Reset.Time})
	case errors.As(err, &refused) && refused.Response != nil:
		return refusal(r, refused)
	}
	return fmt.Errorf("%s: %w", r.what, err)
}

func refusal(r request, refused *gogithub.ErrorResponse) error {
	if strings.HasPrefix(refused.Message, "No commit found for SHA") { // a 422
		return fmt.Errorf("%s: no such commit: %w", r.what, forges.ErrNotFound)
	}
	switch refused.Response.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%s: %w", r.what, forges.ErrNotFound)
	case http.StatusForbidden:
		needs := refused.Response.Header.Get("X-Accepted-Github-Permissions")
		if needs == "" {
			needs = r.needs
		}
		return &forges.Forbidden{Call: r.what, Permission: needs}
	case http.StatusUnauthorized:
		return fmt.Errorf("%s: GitHub refused the credentials: %s", r.what, refused.Message)
	case http.StatusUnprocessableEntity, http.StatusConflict, http.StatusBadRequest,
		http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge:
		return &forges.Rejected{Call: r.what, Message: reason(refused)}
	}
	return fmt.Errorf("%s: GitHub answered %d: %s", r.what, refused.Response.StatusCode, refused.Message)
}

// reason joins what GitHub says was wrong; details are objects or plain texts.
func reason(refused *gogithub.ErrorResponse) string {
	parts := []string{refused.Message}
	for _, detail := range refused.Errors {
		text := detail.Message
		if text == "" {
			text = strings.TrimSpace(detail.Resource + " " + detail.Field + " " + detail.Code)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ": ")
}
