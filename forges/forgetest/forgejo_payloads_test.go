package forgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shape lists the members of a JSON value by path with the type of each; null
// and an empty list say nothing of what else could be there.
func shape(at string, value any, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		into[at] = "object"
		for name, member := range v {
			shape(at+"."+name, member, into)
		}
	case []any:
		into[at] = "list"
		for _, member := range v {
			shape(at+"[]", member, into)
		}
	case nil:
		into[at] = "null"
	default:
		into[at] = fmt.Sprintf("%T", v)
	}
}

func shapeOf(t *testing.T, body string) (key string, members map[string]string) {
	t.Helper()
	var value map[string]any
	check(t, json.Unmarshal([]byte(body), &value))
	members = map[string]string{}
	shape("", value, members)
	text := func(name string) string { s, _ := value[name].(string); return s }
	ref := text("ref_type")
	if after := text("after"); after == zeroSHA {
		ref += " gone"
	} else if strings.HasPrefix(text("ref"), "refs/tags/") {
		ref += " tag"
	}
	return text("action") + ref, members
}

// TestPayloadsHaveTheShapeOfTheRecordedOnes holds every delivery of the fake
// against those of a real Forgejo 11.
func TestPayloadsHaveTheShapeOfTheRecordedOnes(t *testing.T) {
	t.Parallel()
	recorded := map[string]map[string]string{}
	files, err := filepath.Glob("../../webhooks/forgejo/testdata/forgejo-11/*.body.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded deliveries: %v", err)
	}
	for _, path := range files {
		body, err := os.ReadFile(path)
		check(t, err)
		var headers map[string]string
		data, err := os.ReadFile(strings.TrimSuffix(path, ".body.json") + ".headers.json")
		check(t, err)
		check(t, json.Unmarshal(data, &headers))
		key, members := shapeOf(t, string(body))
		key = headers["X-Forgejo-Event-Type"] + " " + key
		if recorded[key] == nil {
			recorded[key] = members
		} else {
			maps.Copy(recorded[key], members)
		}
	}
	w := newForgejo(t, NewForgejo)
	w.walk(t)
	compared := map[string]bool{}
	for _, got := range w.box.got {
		key, members := shapeOf(t, got.body)
		key = got.header.Get("X-Forgejo-Event-Type") + " " + key
		want := recorded[key]
		if want == nil {
			continue // an edit of the title was not recorded
		}
		compared[key] = true
		for _, path := range slices.Sorted(maps.Keys(members)) {
			if was, ok := want[path]; !ok && !underNull(want, path) || ok && was != members[path] && was != "null" && members[path] != "null" {
				t.Errorf("%s: %s is %s, recorded %q", key, path, members[path], was)
			}
		}
		for path := range want {
			if _, ok := members[path]; !ok && !underNull(members, path) {
				t.Errorf("%s: %s is missing", key, path)
			}
		}
	}
	if len(compared) < 14 {
		t.Fatalf("compared %d kinds only: %v", len(compared), slices.Sorted(maps.Keys(compared)))
	}
}

// underNull says whether a path lies below something that is null, or below a
// list that is empty.
func underNull(members map[string]string, path string) bool {
	for at := path; at != ""; {
		cut := max(strings.LastIndexByte(at, '.'), strings.LastIndex(at, "[]"))
		if cut < 0 {
			return false
		}
		at = at[:cut]
		if kind, ok := members[at]; ok {
			return kind == "null" || kind == "list"
		}
	}
	return false
}
