// Package redact is the net that lies over everything people see: it hides
// what looks like a secret by its format or by the name it stands under. It
// comes after the marks a planner sets, never in their place, and it never
// touches a document, a digest or a ledger line (change-set, decisions).
package redact

import (
	"regexp"
	"strings"
	"unicode"
)

// Mark stands where something was hidden.
const Mark = "(redacted)"

// tokens are the formats of credentials that tell themselves apart from any
// other text by a fixed prefix or frame.
var tokens = regexp.MustCompile(strings.Join([]string{
	`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`,                                               // AWS access key id
	`\bgh[pousr]_[A-Za-z0-9]{20,255}\b`,                                                     // GitHub tokens
	`\bgithub_pat_[A-Za-z0-9_]{20,255}\b`,                                                   //
	`\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct|oas)-[A-Za-z0-9_.-]{16,}`,              // GitLab tokens
	`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`,                                                      // Slack
	`\bxapp-\d-[A-Za-z0-9-]{10,}`,                                                           //
	`https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+`,                      //
	`https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]+`,                // Discord
	`\bAIza[A-Za-z0-9_-]{35}`,                                                               // Google API key
	`\bya29\.[A-Za-z0-9_-]{20,}`,                                                            // Google OAuth
	`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}\b`,                                              // Stripe
	`\bwhsec_[A-Za-z0-9+/=]{16,}`,                                                           //
	`\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{32,}`,                                       // model APIs
	`\bnpm_[A-Za-z0-9]{36}\b`,                                                               // npm
	`\bpypi-[A-Za-z0-9_-]{50,}`,                                                             // PyPI
	`\bdo[opr]_v1_[0-9a-f]{64}\b`,                                                           // DigitalOcean
	`\b(?:hv[sbr]\.[A-Za-z0-9_-]{20,}|[sb]\.[A-Za-z0-9]{24})\b`,                             // Vault
	`\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}`,                                        // HCP Terraform
	`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`,                                          // SendGrid
	`\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b`,                                                // Shopify
	`\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b`,                                                      // age
	`\bdckr_pat_[A-Za-z0-9_-]{20,}`,                                                         // Docker
	`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,                          // JWT
	`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`, // PEM
}, "|"))

// Where only a part of what matches is the secret, the first group is kept.
var (
	userinfo = regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/@:]*:)[^\s/@]+@`)
	header   = regexp.MustCompile(`(?i)(\b(?:authorization|proxy-authorization|private-token|x-api-key|cookie)["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)[^\s"']+`)
	bearer   = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{16,}`)
	azure    = regexp.MustCompile(`(?i)(\b(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig)=)[^\s;&"']{8,}`)
	assigned = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]{0,99})(["'\]]*\s*(?:=>|[:=])\s*)("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s"',;&|)\]}]+)`)
)

// Text hides what looks like a secret in running text: known token formats,
// credentials in URLs and headers, and values assigned to secret names.
func Text(s string) string {
	s = tokens.ReplaceAllString(s, Mark)
	s = userinfo.ReplaceAllString(s, "${1}"+Mark+"@")
	s = header.ReplaceAllString(s, "${1}"+Mark)
	s = bearer.ReplaceAllString(s, "${1}"+Mark)
	s = azure.ReplaceAllString(s, "${1}"+Mark)
	return assigned.ReplaceAllStringFunc(s, func(m string) string {
		g := assigned.FindStringSubmatch(m)
		if !SecretName(g[1]) || g[3] == "null" || g[3] == "true" || g[3] == "false" || strings.HasPrefix(g[3], "(") {
			return m
		}
		return g[1] + g[2] + Mark
	})
}

// secretWord: a word that names a secret by itself.
func secretWord(w string) bool {
	switch w {
	case "password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "token", "tokens",
		"apikey", "authtoken", "accesskey", "secretkey", "privatekey", "credential", "credentials", "dsn":
		return true
	}
	return false
}

// secretPair: two words that name a secret together.
func secretPair(pair string) bool {
	switch pair {
	case "api key", "private key", "secret key", "access key", "account key", "master key", "shared key",
		"signing key", "encryption key", "auth key", "license key", "storage key", "connection string":
		return true
	}
	return false
}

// aboutWord: a name that ends so speaks about a secret and does not hold it.
func aboutWord(w string) bool {
	switch w {
	case "id", "ids", "arn", "arns", "name", "names", "ref", "version", "versions", "type", "types",
		"ttl", "lifetime", "expiration", "expires", "expiry", "days", "period", "validity", "rotation",
		"length", "size", "count", "enabled", "required", "status", "mode", "usage", "policy",
		"path", "paths", "file", "prefix", "url", "uri", "endpoint", "region", "store", "stores", "source",
		"audience", "issuer", "algorithm", "format", "fingerprint":
		return true
	}
	return false
}

// SecretName reports whether a value under this name is to be hidden:
// "db_password", "apiKey", "client-secret", but not "secret_arn" or
// "token_ttl".
func SecretName(name string) bool {
	words := split(name)
	if len(words) == 0 || aboutWord(words[len(words)-1]) {
		return false
	}
	for i, w := range words {
		if secretWord(w) || i > 0 && secretPair(words[i-1]+" "+w) {
			return true
		}
	}
	return false
}

// split cuts a name into lower-case words at separators and case changes.
func split(name string) []string {
	var words []string
	var w []rune
	flush := func() {
		if len(w) > 0 {
			words = append(words, strings.ToLower(string(w)))
			w = w[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		upper := unicode.IsUpper(r)
		afterLower := i > 0 && !unicode.IsUpper(runes[i-1])
		beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if upper && (afterLower || beforeLower) {
			flush()
		}
		w = append(w, r)
	}
	flush()
	return words
}
