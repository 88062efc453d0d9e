package main

import (
	"context"
	"os/exec"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// command is a data source that runs a shell command, as external data sources do.
type command struct{}

type commandModel struct {
	Script types.String `tfsdk:"script"`
	Output types.String `tfsdk:"output"`
}

func (command) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "probe_command"
}

func (command) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"script": schema.StringAttribute{Required: true},
		"output": schema.StringAttribute{Computed: true},
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
