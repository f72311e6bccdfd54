# The one place that knows how this project is built, tested and checked. "make help" lists the targets.
#
# Tools are pinned here, built into ./bin on first use and never named in go.mod.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GOLANGCI_LINT_VERSION := v2.15.0
GOFUMPT_VERSION := v0.12.0
BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da
# npm packages: the validator of the OpenAPI document (MIT), and the Node.js that it runs on.
REDOCLY_VERSION := 2.77.0
NODE_VERSION := 22.23.3

BIN := $(CURDIR)/bin
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOFUMPT := $(BIN)/gofumpt-$(GOFUMPT_VERSION)
BENCHSTAT := $(BIN)/benchstat-$(BENCHSTAT_VERSION)
REDOCLY := .cache/openapi/$(REDOCLY_VERSION)-$(NODE_VERSION)

TIMEOUT ?= 20m
FUZZTIME ?= 30s
BENCH ?= .
BENCHCOUNT ?= 1
# go test flags of your own: make test ARGS='-run Contract -v'
ARGS ?=
PKG ?= ./...

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: fmt
fmt: $(GOFUMPT) ## format the Go code
	$(GOFUMPT) -w .

.PHONY: lint
lint: $(GOLANGCI_LINT) ## run the linters of .golangci.yml
	$(GOLANGCI_LINT) config verify
	$(GOLANGCI_LINT) run ./...
	@echo "-- the module bench"
	@# Its own run, since it is a module of its own. That most exclusions have nothing to do there is no news.
	cd bench && $(GOLANGCI_LINT) run --build-tags sqlite_fts5 ./... 2> >(grep -v runner/exclusion_rules >&2)

.PHONY: test
test: ## run all tests; ends with what was skipped, and why
	REVUE_INSTALL=1 go run ./internal/testsummary -nocgo ./storage/sqlite/... -count=1 -timeout $(TIMEOUT) $(ARGS) $(PKG)

.PHONY: race
race: ## run the tests under the race detector, in random order, and the short ones three times
	go test -race -shuffle=on -timeout $(TIMEOUT) $(ARGS) $(PKG)
	go test -short -race -count=3 -timeout $(TIMEOUT) $(ARGS) $(PKG)

.PHONY: cover
cover: ## measure how much of each package the tests reach, and of all
	@mkdir -p dist
	go test -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=dist/coverage.out $(ARGS) $(PKG)
	go tool cover -func=dist/coverage.out | tail -n 1

.PHONY: bench
bench: $(BENCHSTAT) ## run the benchmarks (BENCH=regexp, BENCHCOUNT=n) and tabulate them; keeps dist/bench.txt
	@mkdir -p dist
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCHCOUNT) -timeout 60m $(PKG) | tee dist/bench.txt
	$(BENCHSTAT) dist/bench.txt

# how many decisions, and flags of your own: make bench-memory SIZES=10000 BENCHFLAGS='-engines revue'
SIZES ?= 10000,100000,1000000
BENCHFLAGS ?=
.PHONY: bench-memory
bench-memory: ## compare lookups in the memory with bleve and SQLite's FTS5 (needs a C compiler)
	cd bench && go test -tags sqlite_fts5 -run '^TestCompare$$' -count=1 -v -timeout 60m -sizes $(SIZES) $(BENCHFLAGS)

# flags of your own: make eval EVALFLAGS='-seed 2 -data DIR'
EVALFLAGS ?=
.PHONY: eval
eval: ## measure the matching of questions, and print the table of docs/matching.md
	go run ./internal/matcheval/eval $(EVALFLAGS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s)
	@found=0; \
	for pkg in $$(go list ./...); do \
		listed=$$(go test -list '^Fuzz' $$pkg); \
		for target in $$(grep '^Fuzz' <<<"$$listed" || true); do \
			found=$$((found + 1)); \
			echo "== $$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done; \
	echo "$$found fuzz targets ran $(FUZZTIME) each"; \
	test $$found -gt 0

.PHONY: generate
generate: ## write generated files and golden dependency lists anew
	go generate ./...
	go test -count=1 -run '^TestDependencies$$' . -update

.PHONY: verify
verify: $(GOFUMPT) ## check that what is generated, tidied and formatted is committed as it should be
	@echo "-- go.mod and go.sum are tidy"
	go mod tidy -diff
	go mod verify
	cd bench && go mod tidy -diff && go mod verify
	@echo "-- go vet"
	go vet ./...
	cd bench && go vet -tags sqlite_fts5 ./...
	@echo "-- formatted"
	@unformatted=$$($(GOFUMPT) -l .); if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	@echo "-- go generate changes nothing"
	@before=$$(.ci/tree-sum); go generate ./...; after=$$(.ci/tree-sum); \
		if [ "$$before" != "$$after" ]; then echo "go generate changed files: commit what it wrote"; git status --short || true; exit 1; fi
	@echo "-- imports, dependencies, documents and the tree itself"
	go test -count=1 -run '^(TestImports|TestImportRules|TestDependencies|TestTree.*|TestDocs.*)$$' .
	@echo "-- the OpenAPI document, by a validator that is not ours"
	@$(MAKE) openapi

.PHONY: openapi
openapi: ## lint transport/revuehttp/openapi.json, where a warning is an error (needs npm)
	@if command -v npm >/dev/null; then \
		$(MAKE) $(REDOCLY)/installed && \
		REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(REDOCLY)/node_modules/node/bin/node \
			$(REDOCLY)/node_modules/@redocly/cli/bin/cli.js lint --extends=recommended-strict transport/revuehttp/openapi.json; \
	elif [ "$${REVUE_REQUIRE_ALL:-}" = 1 ]; then \
		echo "FAILED: the OpenAPI document was not validated: there is no npm, and REVUE_REQUIRE_ALL=1 wants everything checked"; exit 1; \
	else \
		echo "!!! LEFT OUT: the OpenAPI document was not validated, since there is no npm. Install npm and run make openapi."; \
	fi

.PHONY: conformance
conformance: ## run the official MCP conformance suite against "revue serve" (needs npm)
	REVUE_REQUIRE_ALL=1 go test -count=1 -v -timeout $(TIMEOUT) ./internal/conformance

.PHONY: browser
browser: ## test the web inbox in Chromium; pictures of every page go to dist/screenshots
	REVUE_REQUIRE_ALL=1 go test -count=1 -timeout $(TIMEOUT) $(ARGS) ./internal/browser ./internal/inboxtest

.PHONY: pictures
pictures: ## take the pictures of README.md from a running revue (needs Chromium)
	REVUE_REQUIRE_ALL=1 go test -count=1 -timeout $(TIMEOUT) -run '^TestPictures$$' ./internal/inboxtest -pictures $(CURDIR)/docs/images

.PHONY: examples
examples: ## run the examples and their tests
	go test -count=1 -timeout $(TIMEOUT) ./examples/...

.PHONY: docs
docs: ## check the documents: links, Go code; and print where each package's documentation is
	go test -count=1 -run '^TestDocs' .
	@go list -f '{{.ImportPath}}: {{.Doc}}' ./...

.PHONY: ci
ci: ## what continuous integration runs
	bash .ci/run

.PHONY: clean
clean: ## remove what the other targets leave: ./bin, ./dist and ./.cache
	rm -rf bin dist .cache

$(GOLANGCI_LINT):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION),golangci-lint)

$(GOFUMPT):
	$(call install,mvdan.cc/gofumpt@$(GOFUMPT_VERSION),gofumpt)

$(BENCHSTAT):
	$(call install,golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION),benchstat)

$(REDOCLY)/installed:
	@rm -rf .cache/openapi && mkdir -p $(REDOCLY)
	@echo '{"private":true}' >$(REDOCLY)/package.json
	cd $(REDOCLY) && npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error @redocly/cli@$(REDOCLY_VERSION) node@$(NODE_VERSION)
	@touch $@

# install builds a tool outside of this module and names it by its version.
define install
@mkdir -p $(BIN)
cd / && GOBIN=$(BIN)/new GOFLAGS= go install $(1)
mv $(BIN)/new/$(2) $@ && rmdir $(BIN)/new
endef
