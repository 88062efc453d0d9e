# Everything a contributor runs. It needs Go, git, make and, for the tests,
# PostgreSQL 15 or newer (apt-get install postgresql); terraform or tofu is
# built when neither is on PATH. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
TOOL = $(GO) tool -modfile=tools.mod

# The planner of the demo and the tests: what is on PATH, else a tofu of our own.
PLANNER := $(shell command -v terraform || command -v tofu)
OWN_TOFU := .cache/bin/tofu
# What the slow lane runs the planner's driver with, beside terraform.
TOFU := $(if $(shell command -v tofu),,$(OWN_TOFU))
# The example payloads that the decoders are tested with; those of Go modules are
# read from the module cache.
EXAMPLES := .tools/webhook-examples/node_modules
# GitHub's API document, and what holds the fake's answers to it.
GITHUB_API := .tools/github-api/node_modules
# The Gitea that the adapter to it is tested with.
GITEA := .cache/bin/gitea
export PATH := $(PATH):$(CURDIR)/.cache/bin

# Of these only what the slow lane adds is run by it: the rest is make test's.
ADDED = app app/httpd engine/drivers/terraform
ADDED_TESTS = $(shell sed -n 's/^func \(Test[A-Za-z0-9]*\).*/\1/p' $(ADDED:%=%/*_e2e_test.go))
EMPTY :=
SPACE := $(EMPTY) $(EMPTY)

# Left out of the race tests: what drives other processes, where it is their time
# that is multiplied and their races it cannot see, and what measures speed.
UNRACED = /(cmd/chant|app/bench|app/conformance|app/soundness|engine/drivers/terraform)$$

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the program into bin/chant
	$(GO) build -trimpath -ldflags '-s -w' -o bin/chant ./cmd/chant

.PHONY: demo
demo: build $(if $(PLANNER),,$(OWN_TOFU)) ## Play the whole loop on this machine (ARGS=--keep leaves the pages up)
	bin/chant demo $(ARGS)

.PHONY: demo-composed
demo-composed: build $(if $(PLANNER),,$(OWN_TOFU)) ## Play changes that reach what reads them: a group, a round, a wave gate, a failure carried on
	bin/chant demo --composed $(ARGS)

.PHONY: test
test: $(if $(PLANNER),,$(OWN_TOFU)) ## Run the tests (under 5 minutes; the slow lane is e2e)
	$(GO) test -timeout 30m $$($(GO) list ./... | grep -Ev '/app/(soundness|conformance)$$')

.PHONY: conformance
conformance: $(if $(PLANNER),,$(OWN_TOFU)) ## Hold every case against GitHub, GitLab and Forgejo, and print the table
	cd app/conformance && $(GO) test -count=1 -timeout 30m

.PHONY: e2e
e2e: $(if $(PLANNER),,$(OWN_TOFU)) $(TOFU) $(EXAMPLES) $(GITEA) ## The slow lane: every fault by itself, on the real program; every mutant; every public example payload; a real Gitea; providers behind every wall; the planner's driver over tofu too; the longest journeys; the demos
	$(GO) test -tags e2e -timeout 30m -run '^($(subst $(SPACE),|,$(ADDED_TESTS)))$$' $(ADDED:%=./%)
	TEST_PLANNER=tofu $(GO) test -tags e2e -timeout 30m ./engine/drivers/terraform
	$(GO) test -tags e2e -timeout 40m ./app/soundness ./app/demo ./app/mutants ./engine/model ./app/gitea ./webhooks/... ./forges/forgejo ./cmd/chant

.PHONY: check
check: format vet lint race ## Format, vet, lint and race tests

.PHONY: format
format: ## Fail on files gofmt would change
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then printf 'run gofmt -w on:\n%s\n' "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## go vet
	$(GO) vet -tags e2e ./...

.PHONY: lint
lint: ## golangci-lint with every linter but those .golangci.yml gives a reason for
	$(TOOL) golangci-lint run --allow-parallel-runners ./...

.PHONY: race
race: ## Tests under the race detector, where it is affordable
	@if ! command -v $$($(GO) env CC) >/dev/null; then \
		echo "race tests left out: the race detector needs a C compiler ($$($(GO) env CC)), none is on PATH"; \
	else CGO_ENABLED=1 $(GO) test -race -timeout 30m $$($(GO) list ./... | grep -Ev '$(UNRACED)'); fi

.PHONY: verify
verify: $(GITHUB_API) ## Prove that what is generated is current (sqlc, goldens, the chart, go.mod, the example configuration), and the fake true to GitHub's document
	$(TOOL) sqlc diff -f sql/sqlc.yaml
	$(GO) mod tidy -diff
	.ci/goldens
	.ci/chart
	$(GO) test -count=1 -run TestExampleLoadsAndNamesEverySetting ./app/config
	$(GO) test -count=1 -tags e2e -run TestAnswersFollowGitHubsDocument ./forges/forgetest

.PHONY: generate
generate: ## Write sql/db anew from sql/queries
	$(TOOL) sqlc generate -f sql/sqlc.yaml

.PHONY: goldens
goldens: ## Write the golden files anew; look at the diff before you commit it
	.ci/goldens -update
	.ci/chart -update

.PHONY: bench
bench: build $(if $(PLANNER),,$(OWN_TOFU)) ## Measure every promised number beside its floor (ARGS='-short digest'); needs a quiet machine
	$(GO) run ./app/bench -chant bin/chant $(ARGS)

.PHONY: microbench
microbench: ## Run the packages' own benchmarks
	$(GO) test -run xxx -bench . -benchmem ./engine/... ./sql/...

.PHONY: clean
clean: ## Remove what build made; .cache, with our tofu in it, stays
	rm -rf bin

# A module of its own: OpenTofu replaces one of its dependencies, which a plain
# `go install` refuses. About four minutes on two cores, once.
$(OWN_TOFU): .tools/tofu/go.mod .tools/tofu/go.sum
	@echo "neither terraform nor tofu is on PATH: building tofu into $@, once; this takes minutes"
	cd .tools/tofu && $(GO) build -trimpath -o $(CURDIR)/$@ \
		-ldflags '-s -w -X github.com/opentofu/opentofu/version.dev=no' github.com/opentofu/opentofu/cmd/tofu

# Its SQLite needs a C compiler.
$(GITEA): .tools/gitea/go.mod .tools/gitea/go.sum
	@echo "building Gitea into $@, once; this takes minutes"
	cd .tools/gitea && CGO_ENABLED=1 $(GO) build -trimpath -tags 'sqlite sqlite_unlock_notify' -o $(CURDIR)/$@ \
		-ldflags '-s -w -X main.Version=1.26.0' code.gitea.io/gitea

$(EXAMPLES): .tools/webhook-examples/package-lock.json
$(GITHUB_API): .tools/github-api/package-lock.json
$(EXAMPLES) $(GITHUB_API):
	npm ci --prefix $(@D)
	touch $@
