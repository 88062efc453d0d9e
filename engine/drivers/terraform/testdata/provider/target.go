package main

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// target is a resource that is in the cloud. Its value changes in place, its name and
// kind replace it; its serial is known only after each change.
type target struct{ cloud cloud }

type targetModel struct {
	Name   types.String `tfsdk:"name"`
	Value  types.String `tfsdk:"value"`
	Kind   types.String `tfsdk:"kind"`
	ID     types.String `tfsdk:"id"`
	Serial types.Int64  `tfsdk:"serial"`
}

func (m *targetModel) object() object {
	return object{ID: m.ID.ValueString(), Value: m.Value.ValueString(), Kind: m.Kind.ValueString()}
}

// take is what the cloud has, as the model has it.
func (m *targetModel) take(o object) {
	text := func(s string) types.String {
		if s == "" {
			return types.StringNull()
		}
		return types.StringValue(s)
	}
	m.Value, m.Kind, m.ID, m.Serial = text(o.Value), text(o.Kind), types.StringValue(o.ID), types.Int64Value(o.Serial)
}

func (t *target) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "probe_target"
}

func (t *target) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	t.cloud, _ = req.ProviderData.(cloud) // there is none yet when a configuration is only validated
}

func (t *target) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	replaces := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"name":   schema.StringAttribute{Required: true, PlanModifiers: replaces},
		"value":  schema.StringAttribute{Optional: true},
		"kind":   schema.StringAttribute{Optional: true, PlanModifiers: replaces},
		"id":     schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"serial": schema.Int64Attribute{Computed: true},
	}}
}

// ModifyPlan replaces what the cloud does not let anybody update.
func (t *target) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return
	}
	var now, next targetModel
	resp.Diagnostics.Append(req.State.Get(ctx, &now)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &next)...)
	if !now.Value.Equal(next.Value) && t.cloud.fixed(now.Name.ValueString()) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("value"))
	}
}

// Create takes no target over that is there already. One that was made before the
// cloud failed is in the state, for which it is a broken one.
func (t *target) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m targetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	m.ID = types.StringValue("") // unknown until now
	err := t.cloud.change(m.Name.ValueString(), "create", func() error {
		if _, there, err := t.cloud.read(m.Name.ValueString()); there || err != nil {
			return errors.Join(err, errors.New("the cloud has it already"))
		}
		o, err := t.cloud.put(m.Name.ValueString(), m.object())
		if err == nil {
			m.take(o)
			resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		}
		return err
	})
	if err != nil {
		resp.Diagnostics.AddError("creating a target", err.Error())
	}
}

func (t *target) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m targetModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	o, there, err := t.cloud.read(m.Name.ValueString())
	switch {
	case err != nil:
		resp.Diagnostics.AddError("reading a target", err.Error())
	case !there:
		resp.State.RemoveResource(ctx)
	default:
		m.take(o)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

func (t *target) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m targetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	var o object
	err := t.cloud.change(m.Name.ValueString(), "update", func() (err error) {
		o, err = t.cloud.put(m.Name.ValueString(), m.object())
		return err
	})
	if err != nil {
		resp.Diagnostics.AddError("updating a target", err.Error())
		return
	}
	m.take(o)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (t *target) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m targetModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	name := m.Name.ValueString()
	if err := t.cloud.change(name, "delete", func() error { return t.cloud.remove(name) }); err != nil {
		resp.Diagnostics.AddError("deleting a target", err.Error())
	}
}
