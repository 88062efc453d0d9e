// Command terraform-provider-probe is a provider for tests. Its data source
// probe_command runs a shell command; its resource probe_thing is nowhere but in
// the state; its resource probe_target, and the data source of that name, are files
// in a directory that stands for a cloud, where others can move them, hold whoever
// changes them and make changes fail.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
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

// Schema is the directory of the cloud, for those who use targets.
func (probe) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"cloud": schema.StringAttribute{Optional: true}}}
}

func (probe) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config struct {
		Cloud types.String `tfsdk:"cloud"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.ResourceData, resp.DataSourceData = cloud(config.Cloud.ValueString()), cloud(config.Cloud.ValueString())
}

func (probe) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return command{} },
		func() datasource.DataSource { return &found{} },
	}
}

func (probe) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return thing{} },
		func() resource.Resource { return &target{} },
	}
}
