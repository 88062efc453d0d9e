// The example payloads of two client libraries, for `make e2e`; nothing of them is
// built or linked.
module github.com/chant-bot/chant/.tools/webhook-examples

go 1.26.0

require (
	github.com/go-playground/webhooks/v6 v6.4.0
	gitlab.com/gitlab-org/api/client-go v1.46.0
)
