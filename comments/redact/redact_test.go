package redact

import (
	"strings"
	"testing"
)

func TestKnownTokenFormatsAreHidden(t *testing.T) {
	t.Parallel()
	// Split so that no scanner takes this file for a leak.
	for name, secret := range map[string]string{
		"aws":             "AKIA" + "IOSFODNN7EXAMPLE",
		"github":          "ghp_" + strings.Repeat("a1B2", 9),
		"github fine":     "github_pat_" + strings.Repeat("a1B2_", 8),
		"gitlab":          "glpat-" + strings.Repeat("x", 20),
		"slack":           "xoxb-" + "123456789012-abcdefABCDEF",
		"google":          "AIza" + strings.Repeat("b", 35),
		"stripe":          "sk_live_" + strings.Repeat("c", 24),
		"vault":           "hvs." + strings.Repeat("d", 24),
		"terraform cloud": strings.Repeat("A", 14) + ".atlasv1." + strings.Repeat("z", 64),
		"jwt":             "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxIn0.c2ln",
		"pem":             "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----",
		"open pem":        "-----BEGIN PRIVATE KEY-----\nMIIE",
		"discord":         "https://discord.com/api/webhooks/" + "123/abc-def",
	} {
		got := Text("before " + secret + " after")
		if strings.Contains(got, secret) || !strings.Contains(got, Mark) {
			t.Errorf("%s is shown: %s", name, got)
		}
		if !strings.HasPrefix(got, "before ") {
			t.Errorf("%s: text before it is lost: %s", name, got)
		}
	}
}

func TestOnlyTheSecretPartIsHidden(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://app:hunter2@db.example/x": "postgres://app:" + Mark + "@db.example/x",
		"Authorization: Bearer abc":           "Authorization: Bearer " + Mark,
		`password = "hunter2"`:                "password = " + Mark,
		`{"db_password":"hunter2","port":1}`:  `{"db_password":` + Mark + `,"port":1}`,
		"DB_TOKEN=abc next":                   "DB_TOKEN=" + Mark + " next",
		`init: password = "hunter2"`:          "init: password = " + Mark,
		`{"text":"password = hunter2","n":1}`: `{"text":"password = ` + Mark + `","n":1}`,
		"clientSecret: 'a b'":                 "clientSecret: " + Mark,
		"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abcdefgh==;": "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + Mark + ";",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"chant approve pr-12 pr-apply --plan jcs1-sha256:" + strings.Repeat("9b", 32),
		`aws_secretsmanager_secret.token["a"] will be destroyed`,
		"secret_arn = arn:aws:secretsmanager:eu-west-1:1:secret:x",
		"token_ttl = 300",
		"password = null",
		"Error: no value for required variable \"password\"",
		"https://chant.example/r/812#since",
		"/etc/passwd: no such file",
		"4e1c9a0b7d21 merged into main at a07b33c91f5e",
	} {
		if got := Text(s); got != s {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
}

func TestSecretNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"password", "db_password", "masterPassword", "client-secret", "API_KEY", "apiKey", "private_key_pem", "connectionString", "auth.token"} {
		if !SecretName(name) {
			t.Errorf("%s is not taken for a secret", name)
		}
	}
	for _, name := range []string{"", "name", "secret_arn", "secretArn", "token_ttl", "access_key_id", "key", "primary_key", "monkey", "tokenizer", "compass", "password_length"} {
		if SecretName(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
}

func FuzzAPlantedTokenNeverSurvives(f *testing.F) {
	f.Add("password=\"a\\\"b\"", "-----BEGIN PRIVATE KEY-----")
	f.Add("://a:", "@host")
	f.Fuzz(func(t *testing.T, before, after string) {
		planted := "ghp_" + strings.Repeat("Zq9x", 9)
		if strings.Contains(Text(before+" "+planted+" "+after), planted) {
			t.Errorf("shown between %q and %q", before, after)
		}
	})
}
