package usecase

import (
	"testing"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

func TestWhatKeepsADocumentFromTheLedgerIsNamed(t *testing.T) {
	t.Parallel()
	of := func(path, value string) *changeset.Document {
		return &changeset.Document{Entries: []changeset.Entry{
			{Address: "aws_vpc.main", Attributes: []changeset.Attribute{{Path: "cidr", After: digest.StringOf("10.0.0.0/16")}}},
			{Address: "aws_db.main", Attributes: []changeset.Attribute{{Path: path, After: digest.StringOf(value)}}},
		}}
	}
	id := of("name", "main")
	id.Entries[1].ID = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	for name, tt := range map[string]struct {
		doc  *changeset.Document
		want string
	}{
		"no document":            {nil, ""},
		"nothing secret":         {of("name", "main"), ""},
		"credentials in a URL":   {of("url", "postgres://chant:hunter2@db/main?a=1&b=2"), "aws_db.main, url"},
		"a token":                {of("token", "ghp_0123456789abcdefghijABCDEFGHIJ012345"), "aws_db.main, token"},
		"a token outside values": {id, "aws_db.main"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Withheld(tt.doc); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
