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

// token is the format of a credential that a fixed part tells apart from any
// other text. The hint is that part: most text holds none of them, and looking
// for it is far cheaper than matching.
type token struct {
	hint   string
	format *regexp.Regexp
}

func format(hint, expr string) token { return token{hint, regexp.MustCompile(expr)} }

var tokens = [...]token{
	format("AKIA", `\bAKIA[A-Z2-7]{16}\b`), // AWS access key ids
	format("ASIA", `\bASIA[A-Z2-7]{16}\b`),
	format("ghp_", `\bghp_[A-Za-z0-9]{20,255}\b`), // GitHub
	format("gho_", `\bgho_[A-Za-z0-9]{20,255}\b`),
	format("ghu_", `\bghu_[A-Za-z0-9]{20,255}\b`),
	format("ghs_", `\bghs_[A-Za-z0-9]{20,255}\b`),
	format("ghr_", `\bghr_[A-Za-z0-9]{20,255}\b`),
	format("github_pat_", `\bgithub_pat_[A-Za-z0-9_]{20,255}\b`),
	format("gl", `\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct|oas)-[A-Za-z0-9_.-]{16,}`), // GitLab
	format("xox", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`),                                        // Slack
	format("xapp-", `\bxapp-\d-[A-Za-z0-9-]{10,}`),
	format("hooks.slack.com", `https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+`),
	format("/api/webhooks/", `https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]+`),
	format("AIza", `\bAIza[A-Za-z0-9_-]{35}`), // Google
	format("ya29.", `\bya29\.[A-Za-z0-9_-]{20,}`),
	format("k_live_", `\b[sr]k_live_[A-Za-z0-9]{16,}\b`), // Stripe
	format("k_test_", `\b[sr]k_test_[A-Za-z0-9]{16,}\b`),
	format("whsec_", `\bwhsec_[A-Za-z0-9+/=]{16,}`),
	format("sk-", `\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{32,}`), // model services
	format("npm_", `\bnpm_[A-Za-z0-9]{36}\b`),
	format("pypi-", `\bpypi-[A-Za-z0-9_-]{50,}`),
	format("_v1_", `\bdo[opr]_v1_[0-9a-f]{64}\b`), // DigitalOcean
	format("hv", `\bhv[sbr]\.[A-Za-z0-9_-]{20,}`), // Vault
	format("s.", `\bs\.[A-Za-z0-9]{24}\b`),
	format(".atlasv1.", `\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}`), // HCP Terraform
	format("SG.", `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),         // SendGrid
	format("shp", `\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b`),               // Shopify
	format("AGE-SECRET-KEY-1", `\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b`),
	format("dckr_pat_", `\bdckr_pat_[A-Za-z0-9_-]{20,}`),
	format("eyJ", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), // JSON web tokens
	format("PRIVATE KEY-----", `(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`),
}

// Where only a part of what matches is the secret, the first group is kept.
var (
	userinfo = regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/@:]*:)[^\s/@]+@`)
	header   = regexp.MustCompile(`(?i)(\b(?:authorization|proxy-authorization|private-token|x-api-key|cookie)["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)[^\s"']+`)
	bearer   = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{16,}`)
	azure    = regexp.MustCompile(`(?i)(\b(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig)=)[^\s;&"']{8,}`)
	assigned = regexp.MustCompile(`(^|[^/A-Za-z0-9_.-])([A-Za-z][A-Za-z0-9_.-]{0,99})(["'\]]*\s*(?:=>|[:=])\s*)("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s"',;&|)\]}]+)`)
)

// Text hides what looks like a secret in running text: known token formats,
// credentials in URLs and headers, and values assigned to secret names.
func Text(s string) string {
	for _, t := range tokens {
		if strings.Contains(s, t.hint) {
			s = t.format.ReplaceAllString(s, Mark)
		}
	}
	if strings.Contains(s, "://") {
		s = userinfo.ReplaceAllString(s, "${1}"+Mark+"@")
	}
	if strings.ContainsAny(s, ":= ") {
		s = header.ReplaceAllString(s, "${1}"+Mark)
		s = bearer.ReplaceAllString(s, "${1}"+Mark)
		s = azure.ReplaceAllString(s, "${1}"+Mark)
	}
	if !strings.ContainsAny(s, ":=") {
		return s
	}
	return hideAssigned(s)
}

// hideAssigned hides the values under secret names. What stands apart under
// another name is looked into: it may be such a name with its value, as in
// "init: token = x". What is glued to a name is one value, as an ARN is.
func hideAssigned(s string) string {
	var b strings.Builder
	for {
		at := assigned.FindStringSubmatchIndex(s)
		if at == nil {
			b.WriteString(s)
			return b.String()
		}
		name, value, from, to := s[at[4]:at[5]], s[at[8]:at[9]], at[8], at[9]
		glued := !strings.ContainsAny(s[from-1:from+1], " \t\n\"'")
		b.WriteString(s[:from])
		switch {
		case !SecretName(name) && !glued:
			to = from
		case !SecretName(name), value == "null" || value == "true" || value == "false" || strings.HasPrefix(value, "("):
			b.WriteString(value)
		default:
			b.WriteString(Mark)
		}
		s = s[to:]
	}
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
