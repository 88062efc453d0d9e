package record

import (
	"net/url"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Paths on the lifecycle branch (pr-loop §1.1). prefix is the project's ledger
// prefix: "" or "_members/<member>/".

// MergePath is where the merge record of a commit stands.
func MergePath(prefix, env, sha string) string { return sharded(prefix+"_merges/", env, sha) }

// AppliesPath is where the record of one apply stands.
func AppliesPath(prefix, env, sha string) string { return sharded(prefix+"_applies/", env, sha) }

// GreenApplyPath is the record of the commit last applied to an environment.
func GreenApplyPath(prefix, env string) string {
	return prefix + "_green-applies/" + envSegment(env) + ".json"
}

// AttemptPath is the attempt of an environment.
func AttemptPath(prefix, env string) string {
	return prefix + "_green-applies/" + envSegment(env) + ".attempt.json"
}

// BasePath is where an environment of which nothing was applied yet is measured
// from.
func BasePath(prefix, env string) string {
	return prefix + "_green-applies/" + envSegment(env) + ".base.json"
}

// DocumentPath is where a change-set document stands, by its digest.
func DocumentPath(prefix string, d digest.Digest) string {
	hex := d.Hex()
	if hex == "" {
		return ""
	}
	return prefix + "_documents/" + hex[:2] + "/" + hex + ".json"
}

func sharded(dir, env, sha string) string {
	sha = strings.ReplaceAll(url.PathEscape(sha), ".", "%2E") // hex digits; anything else stays in its folder
	return dir + envSegment(env) + "/" + sha[:min(2, len(sha))] + "/" + sha + ".json"
}

// envSegment keeps an environment's name inside its folder, and one named
// "prod.attempt" or "prod.base" out of the attempt and the base of prod.
func envSegment(env string) string {
	s := url.PathEscape(env)
	if env == "." || env == ".." || strings.HasSuffix(env, ".attempt") || strings.HasSuffix(env, ".base") {
		s = strings.ReplaceAll(s, ".", "%2E")
	}
	return s
}
