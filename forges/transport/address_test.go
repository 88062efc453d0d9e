package transport_test

import (
	"strings"
	"testing"

	"github.com/chant-bot/chant/forges/transport"
)

func TestTheRootOfAForgeIsFoundFromItsAPI(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://git.example.com/api/v1":       "https://git.example.com",
		"https://git.example.com/api/v1/":      "https://git.example.com",
		"http://127.0.0.1:3000/sub/api/v1//":   "http://127.0.0.1:3000/sub",
		"https://git.example.com/api/v4/":      "does not end in /api/v1/",
		"https://git.example.com/":             "does not end in /api/v1/",
		"https://bob:x@git.example.com/api/v1": "is no plain http(s) URL",
		"ftp://git.example.com/api/v1":         "is no plain http(s) URL",
		"git.example.com/api/v1":               "is no plain http(s) URL",
		"https://git.example.com:port/api/v1":  "is no plain http(s) URL",
		"":                                     "is no plain http(s) URL",
	} {
		got, err := transport.Root(text, "/api/v1/")
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got.String() != want {
			t.Errorf("%q: got %v, %v; want %q", text, got, err, want)
		}
	}
}
