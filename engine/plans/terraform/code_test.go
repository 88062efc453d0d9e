package terraform_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

const codePlan = `{"configuration":{
	"provider_config":{"aws":{"name":"aws","expressions":{"region":{"constant_value":"eu-west-1"}}}},
	"root_module":{
		"resources":[
			{"address":"terraform_data.plain","mode":"managed","type":"terraform_data"},
			{"address":"terraform_data.run","mode":"managed","type":"terraform_data",
				"provisioners":[{"type":"local-exec","expressions":{"command":{"constant_value":"true"}}},{"type":"remote-exec"}]},
			{"address":"data.external.now","mode":"data","type":"external"},
			{"address":"external.not_data","mode":"managed","type":"external"}],
		"module_calls":{
			"net":{"source":"./net","module":{
				"resources":[{"address":"data.external.ip","mode":"data","type":"external"}],
				"module_calls":{"sub":{"module":{"resources":[{"address":"a_b.c","provisioners":[{"type":"file"}]}]}}}}},
			"empty":{"source":"./empty"}}}}}`

func TestCodeNamesWhatRunsInEveryModule(t *testing.T) {
	t.Parallel()
	code, err := terraform.Code(decode(t, codePlan))
	if err != nil {
		t.Fatal(err)
	}
	providers, err := digest.OfBytes("terraform-provider-config", []byte(`{"aws":{"expressions":{"region":{"constant_value":"eu-west-1"}},"name":"aws"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := terraform.RunsCode{
		Provisioners: []terraform.Provisioner{
			{Address: "terraform_data.run", Type: "local-exec"},
			{Address: "terraform_data.run", Type: "remote-exec"},
			{Address: "module.net.module.sub.a_b.c", Type: "file"},
		},
		External:       []string{"data.external.now", "module.net.data.external.ip"},
		ProviderConfig: providers,
	}
	if diff := cmp.Diff(want, code); diff != "" {
		t.Errorf("code (-want +got):\n%s", diff)
	}
}

func TestAReadDuringTheApplyIsDeferred(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]bool{
		`{"resource_changes":[{"mode":"data","change":{"actions":["read"]}}]}`:  true,
		`{"resource_changes":[{"mode":"data","change":{"actions":["no-op"]}}]}`: false,
		`{}`: false,
		string(readFile(t, "rawplan-01-terraform-1.11.4.show.json")): true,
	} {
		code, err := terraform.Code(decode(t, plan))
		if err != nil || code.HasDeferredReads != want {
			t.Errorf("%.80s: %v, %v; want %v", plan, code.HasDeferredReads, err, want)
		}
	}
}

func TestAnotherProviderConfigurationHasAnotherDigest(t *testing.T) {
	t.Parallel()
	of := func(plan string) digest.Digest {
		code, err := terraform.Code(decode(t, plan))
		if err != nil {
			t.Fatal(err)
		}
		return code.ProviderConfig
	}
	one := of(`{"configuration":{"provider_config":{"aws":{"expressions":{"region":{"constant_value":"a"}}}}}}`)
	other := of(`{"configuration":{"provider_config":{"aws":{"expressions":{"region":{"constant_value":"b"}}}}}}`)
	none := of(`{"configuration":{}}`)
	if one == other || one.IsZero() || !none.IsZero() {
		t.Errorf("digests are %s, %s and %q", one, other, none)
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	got := terraform.ChangedOutputs(decode(t, string(readFile(t, "rawplan-01-terraform-1.11.4.show.json"))))
	want := []string{"o", "s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if got := terraform.ChangedOutputs(decode(t, `{"output_changes":{"a":{"actions":["no-op"]},"b":{"actions":["delete"]},"c":{}}}`)); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("changed outputs are %v", got)
	}
	if got := terraform.ChangedOutputs(decode(t, `{}`)); len(got) != 0 {
		t.Errorf("outputs of an empty plan are %v", got)
	}
}
