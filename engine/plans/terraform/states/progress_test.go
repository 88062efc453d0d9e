package states

import "testing"

func TestWhatBecameOfAnInstance(t *testing.T) {
	t.Parallel()
	const made = `{"index_key":"k","attributes":{"v":1}}`
	resource := func(instances string) string {
		return one(`{"module":"module.x","mode":"managed","type":"a","name":"b","instances":[` + instances + `]}`)
	}
	for name, tc := range map[string]struct {
		before, after string
		want          Fate
	}{
		"nothing":                       {resource(made), resource(made), Untouched},
		"never there":                   {one(""), one(""), Untouched},
		"made":                          {one(""), resource(made), Finished},
		"gone":                          {resource(made), resource(""), Finished},
		"changed":                       {resource(made), resource(`{"index_key":"k","attributes":{"v":2}}`), Finished},
		"tainted":                       {one(""), resource(`{"index_key":"k","status":"tainted","attributes":{"v":1}}`), Unfinished},
		"replaced, the old one left":    {resource(made), resource(`{"index_key":"k","attributes":{"v":2}},{"index_key":"k","deposed":"0a","attributes":{"v":1}}`), Unfinished},
		"only what it depends on moved": {resource(made), resource(`{"index_key":"k","attributes":{"v":1},"dependencies":["a.c"],"create_before_destroy":true}`), Untouched},
		"another instance":              {resource(made), resource(made + `,{"index_key":"l","attributes":{}}`), Untouched},
	} {
		if got := NewProgress(decode(t, tc.before), decode(t, tc.after)).Of(`module.x.a.b["k"]`); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	for key, address := range map[string]string{`0`: `data.a.b[0]`, `"a.\"b"`: `data.a.b["a.\"b"]`, `"${x}"`: `data.a.b["$${x}"]`} {
		state := decode(t, one(`{"mode":"data","type":"a","name":"b","instances":[{"index_key":`+key+`}]}`))
		if got := NewProgress(decode(t, one("")), state).Of(address); got != Finished {
			t.Errorf("%s is not found", address)
		}
	}
}
