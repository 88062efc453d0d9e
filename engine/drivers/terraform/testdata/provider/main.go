// Command terraform-provider-probe is a provider for tests. Its data source
// runs a shell command, as external data sources do; its resource keeps a
// value, a sensitive one, and a region that replaces it.
package main

import (
	"context"
	"log"
	"os/exec"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return probe{} },
		providerserver.ServeOpts{Address: "example.test/chant/probe"})
	if err != nil {
		log.Fatal(err)
	}
}

type probe struct{}

func (probe) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "probe"
}
func (probe) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (probe) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (probe) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return command{} }}
}
func (probe) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return thing{} }}
}

type command struct{}

type commandModel struct {
	Script types.String `tfsdk:"script"`
	Output types.String `tfsdk:"output"`
}

func (command) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "probe_command"
}

func (command) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = dschema.Schema{Attributes: map[string]dschema.Attribute{
		"script": dschema.StringAttribute{Required: true},
		"output": dschema.StringAttribute{Computed: true},
	}}
}

func (command) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m commandModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	out, err := exec.CommandContext(ctx, "/bin/sh", "-c", m.Script.ValueString()).CombinedOutput()
	if err != nil {
		resp.Diagnostics.AddError("the command failed", err.Error()+": "+string(out))
		return
	}
	m.Output = types.StringValue(string(out))
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

type thing struct{}

type thingModel struct {
	ID     types.String `tfsdk:"id"`
	Value  types.String `tfsdk:"value"`
	Secret types.String `tfsdk:"secret"`
	Region types.String `tfsdk:"region"`
}

func (thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "probe_thing"
}

func (thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":     schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"value":  schema.StringAttribute{Optional: true},
		"secret": schema.StringAttribute{Optional: true, Sensitive: true},
		"region": schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
	}}
}

func (thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	m.ID = types.StringValue("thing")
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
func (thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}
func (thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
func (thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
