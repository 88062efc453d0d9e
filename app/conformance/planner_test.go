package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// realMarker in a root has it planned by terraform itself.
const realMarker = "planned-by-terraform"

// standIn answers as terraform does for a root with one terraform_data.service
// whose input is a literal. Its state and its plans hold inputs alone, quoted as
// in the root, so that it parses nothing. It is a script because it runs a
// thousand times.
const standIn = `#!/bin/sh
set -eu
if [ -e '` + realMarker + `' ]; then exec 'REAL' "$@"; fi

state() { sed -n 's/.*"path":"\([^"]*\)".*/\1/p' .terraform/terraform.tfstate; }
quoted() { sed -n 's/^  input = \(".*"\)$/\1/p' main.tf; }
value() { printf '{"id":"6f1c","input":%s,"output":%s,"triggers_replace":null}' "$1" "$1"; }

command=$1
for last; do
	case $last in
	-backend-config=path=*) path=${last#-backend-config=path=} ;;
	-out=*) out=${last#-out=} ;;
	esac
done
case $command in
version) echo '{"terraform_version":"1.11.4"}' ;;
output) echo '{}' ;;
init)
	mkdir -p .terraform
	printf '{"version":3,"backend":{"type":"local","config":{"path":"%s"},"hash":1}}' "$path" >.terraform/terraform.tfstate
	;;
plan)
	from=$(cat "$(state)") to=$(quoted)
	if [ -z "$to" ]; then echo 'Error: main.tf sets no input' >&2; exit 1; fi
	printf '%s\n%s\n' "$from" "$to" >"$out"
	if [ "$from" != "$to" ]; then exit 2; fi # terraform's code for changes
	;;
apply)
	{ read -r from; read -r to; } <"$last"
	if [ "$(cat "$(state)")" != "$from" ]; then echo 'Error: Saved plan is stale' >&2; exit 1; fi
	printf '%s' "$to" >"$(state)"
	;;
show)
	{ read -r from; read -r to; } <"$last"
	actions='["update"]' applyable=true
	if [ "$from" = "$to" ]; then actions='["no-op"]' applyable=false; fi
	printf '{"format_version":"1.2","terraform_version":"1.11.4","timestamp":"2026-01-01T00:00:00Z","complete":true,"errored":false,'
	printf '"applyable":%s,"resource_changes":[{"address":"terraform_data.service","mode":"managed","type":"terraform_data",' "$applyable"
	printf '"name":"service","provider_name":"terraform.io/builtin/terraform","change":{"actions":%s,"before":' "$actions"
	value "$from"
	printf ',"after":'
	value "$to"
	printf ',"after_unknown":{},"before_sensitive":{},"after_sensitive":{}}}],"configuration":{"provider_config":{},"root_module":'
	printf '{"resources":[{"address":"terraform_data.service","mode":"managed","type":"terraform_data","name":"service",'
	printf '"provider_config_key":"terraform","expressions":{"input":{"constant_value":%s}},"schema_version":0}]}}}\n' "$to"
	;;
*)
	echo "Error: the stand-in does not $command" >&2
	exit 1
	;;
esac
`

// newPlanner writes the program a server runs as terraform.
func newPlanner(t testing.TB, dir, terraform string) string {
	t.Helper()
	path := filepath.Join(dir, "terraform")
	script := strings.Replace(standIn, "REAL", terraform, 1)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
