package usecase

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

// Soundness I8: what an apply that did not finish changed, and a later commit took back,
// is planned again, since it may stand; and a root that it may have made is not dropped.
func TestAChangeTakenBackBeforeItsApplyFinishedIsPlanned(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	component := func(name string) []byte {
		return []byte(`{"name":"` + name + `","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"` + name + `"}]}]}`)
	}
	commit := func(message string, roots map[string]string) string {
		files := map[string][]byte{"chant.workspace.json": []byte(`{"name":"estate","schema":1,"minReader":"0.108.0"}`)}
		files["db/main.tf"], files["db.component.json"] = nil, nil
		var declared []string
		for _, name := range slices.Sorted(maps.Keys(roots)) {
			declared = append(declared, `"`+name+`":{"dir":"`+name+`"}`)
			files[name+"/main.tf"], files[name+".component.json"] = []byte(roots[name]), component(name)
		}
		files["chant.config.json"] = []byte(`{"terraform":{"roots":{` + strings.Join(declared, ",") + `}}}`)
		return gittest.Write(t, remote, gittest.Commit{Branch: "main", Message: message, Files: files})
	}
	made := func(value string) string { return `resource "terraform_data" "it" { input = "` + value + `" }` }
	base := commit("Start", map[string]string{"net": made("1"), "app": made("1")})
	moved := commit("Move net", map[string]string{"net": made("2"), "app": made("1")})
	added := commit("Add db", map[string]string{"net": made("2"), "app": made("1"), "db": made("1")})
	head := commit("Take it all back", map[string]string{"net": made("1"), "app": made("1")})
	for name, tt := range map[string]struct {
		tried   []string
		want    string
		refused string
	}{
		"nothing was tried":      {},
		"the first change was":   {tried: []string{moved}, want: "net"},
		"and one that is undone": {tried: []string{moved, added}, refused: `root "db" is no longer declared`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := siteOf(t, remote)
			if err := site.FetchBranch(t.Context(), "main"); err != nil {
				t.Fatal(err)
			}
			checkout, err := site.Checkout(t.Context(), head, filepath.Join(t.TempDir(), "tree"))
			if err != nil {
				t.Fatal(err)
			}
			proj, err := findProject(checkout.Workspace, "")
			if err != nil {
				t.Fatal(err)
			}
			selection, err := (&Stage{}).selectComponents(t.Context(), PlanInput{
				Site: site, Checkout: checkout, Project: proj, Base: base, Head: head, Tried: tt.tried, RunDir: t.TempDir(),
			})
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Fatalf("ended with %v, want %q", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.Join(selection.Order(), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
