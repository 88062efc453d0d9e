package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
)

// found is a data source that reads a target. One that depends on a change reads it
// late, when the change is applied.
type found struct{ cloud cloud }

func (f *found) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "probe_target"
}

func (f *found) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	f.cloud, _ = req.ProviderData.(cloud) // as for targets
}

func (f *found) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"name":   schema.StringAttribute{Required: true},
		"value":  schema.StringAttribute{Computed: true},
		"kind":   schema.StringAttribute{Computed: true},
		"id":     schema.StringAttribute{Computed: true},
		"serial": schema.Int64Attribute{Computed: true},
	}}
}

func (f *found) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m targetModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	o, there, err := f.cloud.read(m.Name.ValueString())
	switch {
	case err != nil:
		resp.Diagnostics.AddError("reading a target", err.Error())
	case !there:
		resp.Diagnostics.AddError("reading a target", "the cloud has no "+m.Name.ValueString())
	default:
		m.take(o)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}
