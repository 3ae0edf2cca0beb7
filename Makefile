# Castalia. `make` alone explains itself; CI calls the same targets as people do.

GOLANGCI_VERSION  := v2.14.0
DEADCODE_VERSION  := v0.51.0
VERSITYGW_VERSION := v1.8.0
BENCHSTAT_VERSION := v0.0.0-20250929173416-2ac86ad5c1f9
GOVULN_VERSION    := v1.8.0
NFPM_VERSION      := v2.44.0

SHELL      := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
TOOLS      := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/castalia/tools
GO         := go
# The race detector makes the pure-Go SQLite 13 to 27 times slower, and scrypt, and finds nothing in them.
RACE       := -race -gcflags=modernc.org/...=-race=false -gcflags=golang.org/x/crypto/scrypt=-race=false
LDFLAGS    := -s -w -buildid=
# Half of what tests cost is linking their programs: without tables for debuggers that is a
# quarter less. Linters vet.
LEAN       := -vet=off -ldflags='-s -w'
SERVICES   := $(GO) run ./test/services --
SYNCED     := $(GO) run ./test/services -sync --
# Tests need no disk that keeps anything; figures and the long run do (see test/services).
IN_MEMORY  := $(GO) run ./test/services -memory --

.DEFAULT_GOAL := help

##@ Every day

.PHONY: help
help: ## Print this help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z][a-z-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build the program (and the console, if Node is there) and start it
	./bin/castalia serve

.PHONY: build
build: web-if-node ## Build bin/castalia
	$(GO) build -o bin/castalia ./cmd/castalia

.PHONY: release
release: web ## Build bin/castalia as it is shipped: static, small, the same bytes everywhere
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=auto -ldflags '$(LDFLAGS)' -o bin/castalia ./cmd/castalia

.PHONY: dist
dist: .bin/nfpm ## A whole release of COMMIT (HEAD) in dist/: programs, packages, images, npm, sums; KEY=file signs it, URL= says where it will be
	$(GO) run ./scripts/dist -commit '$(or $(COMMIT),HEAD)' -out dist $(if $(KEY),-key '$(KEY)') $(if $(URL),-url '$(URL)') $(if $(PLATFORMS),-platforms '$(PLATFORMS)')

.PHONY: test
test: setup test-go test-web test-interop test-browser ## Run every test: both engines, both shapes, TypeScript, browser

# Calls take as long as people speak; other tests that wait for a timer wait beside
# each other.
.PHONY: quick
quick: ## The fast tests, in about a minute, with what is at hand; what did not change is not run again
	$(GO) test -short $(LEAN) -p 3 -parallel 8 $$($(GO) list ./cmd/... ./internal/... ./plugin/... | grep -v /oracle/call$$)

.PHONY: setup
setup: .bin/versitygw ## Say what is missing; install it on Debian as root
	@scripts/setup

.PHONY: setup-long
setup-long: ## The same with what only the long run needs: Firefox, WebKit, podman, rpm
	@scripts/setup long

##@ Parts of the tests

# Tests of whole programs come last, since they wait for those more than they
# compute: four beside each other on two cores. They use the program that people get;
# test-long builds it with the race detector, as all packages are here.
.PHONY: test-go
test-go: build .bin/versitygw ## Go tests with the race detector on both engines, and whole programs in both shapes
	list=$$($(GO) list ./... | grep -vE '/test/(faults|system)$$') && $(IN_MEMORY) $(GO) test $(RACE) $(LEAN) -timeout 30m $$list
	CASTALIA_BINARY=$(CURDIR)/bin/castalia $(IN_MEMORY) $(GO) test $(LEAN) -timeout 30m -parallel 4 ./test/faults ./test/system

.PHONY: test-web
test-web: web/node_modules ## Lint, types and unit tests of the TypeScript packages
	cd web && npm run check

.PHONY: test-interop
test-interop: build .bin/versitygw ## Foreign implementations against ours
	$(IN_MEMORY) scripts/interop

.PHONY: test-browser
test-browser: build .bin/versitygw web/node_modules ## The console and the library in a real Chromium
	$(IN_MEMORY) npm --prefix web run browser

.PHONY: screenshots
screenshots: build web/node_modules ## Draw the pictures of docs/images anew
	node test/browser/screenshots.mjs

.PHONY: test-long
test-long: setup build ## Multi-GiB vectors, fault schedules, property tests at full length
	CASTALIA_LONG=1 $(SERVICES) $(GO) test $(RACE) -timeout 4h ./...

.PHONY: test-dist
test-dist: .bin/nfpm ## Make a release (or take CASTALIA_DIST=folder), install each part of it and use it
	CASTALIA_LONG=1 $(GO) test -count=1 -timeout 4h -v ./test/ship

.PHONY: faults
faults: .bin/versitygw ## Break a fleet on purpose; SEED=n repeats one, SCHEDULES=n FROM=n runs many
	SEED=$(SEED) FROM=$(FROM) SCHEDULES=$(SCHEDULES) $(GO) test $(RACE) -count=1 -timeout 12h -v -run '^(TestSchedules|TestAlone|TestFailover)$$' ./test/faults

.PHONY: fuzz
fuzz: ## Every fuzz target (over a hundred) for FUZZTIME (10m) each: a night and more; JOBS=n runs n side by side, FUZZ=FuzzOffer chooses by name
	FUZZ='$(FUZZ)' JOBS='$(JOBS)' scripts/fuzz $(or $(FUZZTIME),10m)

.PHONY: bench
bench: .bin/versitygw ## Every figure of docs/reference/performance.md with its bar; BENCH=ussd,query chooses groups
	$(SYNCED) $(GO) run ./test/bench -record docs/reference/performance.md $(if $(BENCH),-only $(BENCH))

.PHONY: bench-knowledge
bench-knowledge: ## What search finds, quotes and refuses; MISSES=1 names what went wrong, SPEED=10000,100000,1000000 measures its cost too, EMBEDDINGS_URL finds by meaning
	$(GO) run ./test/knowledge $(if $(MISSES),-misses) $(if $(EMBEDDINGS_URL),-embeddings $(EMBEDDINGS_URL) $(if $(EMBEDDINGS_MODEL),-embeddings-model $(EMBEDDINGS_MODEL)))
	$(if $(SPEED),$(GO) run ./test/bench/knowledge -passages $(SPEED))

.PHONY: bench-query
bench-query: ## The query gateway against a generated grpc-gateway
	scripts/bench-query

.PHONY: load
load: build .bin/versitygw ## Mixed traffic on both shapes against a budget; LOAD='-rate 200 -duration 2m' changes it
	$(GO) build -o bin/load ./test/load
	bin/load -binary bin/castalia -shape embedded -rate 50 -budget test/load/budgets/embedded.yaml -out bin/load-embedded.json -picture docs/images/load-embedded.svg $(LOAD)
	$(SERVICES) bin/load -binary bin/castalia -shape fleet -rate 30 -budget test/load/budgets/fleet.yaml -out bin/load-fleet.json -picture docs/images/load-fleet.svg $(LOAD)

.PHONY: load-hole
load-hole: build .bin/versitygw ## The same while a program of menus and a gateway of text messages never answer: what others wait for, before and beside
	$(GO) build -o bin/load ./test/load
	bin/load -binary bin/castalia -shape embedded -rate 50 -hole 10 -budget test/load/budgets/embedded.yaml -out bin/load-hole-embedded.json $(LOAD)
	$(SERVICES) bin/load -binary bin/castalia -shape fleet -rate 30 -hole 10 -budget test/load/budgets/fleet.yaml -out bin/load-hole-fleet.json $(LOAD)

.PHONY: load-growth
load-growth: build .bin/versitygw ## How cost grows: 1, 10, 100 thousand records (GROWTH), and 1, 2, 3 nodes
	$(GO) build -o bin/load ./test/load
	$(SERVICES) scripts/load-growth $(GROWTH)

.PHONY: load-records
load-records: build .bin/versitygw ## What a request costs three nodes among 10,000 and among 4,000,000 records (RECORDS), in the database too
	$(GO) build -o bin/load ./test/load
	$(SERVICES) scripts/load-records $(RECORDS)

##@ Before a commit

.PHONY: ci
ci: lint generated test ## All that CI does

.PHONY: ci-long
ci-long: .bin/nfpm .bin/versitygw ## What takes hours, with its outcome in docs/reference/long-run.md; STEPS="cross faults" chooses, PARTS=14 does so much of fuzz and faults
	scripts/ci-long

.PHONY: lint
lint: .bin/golangci-lint secrets deadcode ## Run the linters
	.bin/golangci-lint run --timeout 30m ./...

.PHONY: deadcode
deadcode: .bin/deadcode ## Look for functions that nothing in the program calls
	scripts/deadcode

.PHONY: secrets
secrets: ## Look for committed secrets
	scripts/secrets

.PHONY: sbom
sbom: release ## Write bin/castalia.cdx.json, the bill of materials of what is shipped (CycloneDX)
	$(GO) run ./scripts/sbom bin/castalia > bin/castalia.cdx.json

.PHONY: reproducible
reproducible: ## Build twice in two folders and compare every byte
	scripts/reproducible

.PHONY: fmt
fmt: .bin/golangci-lint ## Format the Go code
	.bin/golangci-lint fmt ./...

.PHONY: generate
generate: ## Write what is made from code: reference pages, the index of decisions
	@mkdir -p bin
	$(GO) run ./cmd/castalia config --reference > docs/reference/config.md
	$(GO) run ./scripts/adrindex docs/adr > bin/adr-index.md && mv bin/adr-index.md docs/adr/README.md
	$(GO) run ./scripts/logevents . > bin/log-events.md && mv bin/log-events.md docs/reference/log-events.md

.PHONY: generated
generated: generate ## Fail when generated files are stale
	@git diff --exit-code --stat -- docs/reference/config.md docs/reference/log-events.md docs/adr/README.md || { echo "generated files are stale: run 'make generate' and commit"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) mod verify >/dev/null

.PHONY: vuln
vuln: ## Known vulnerabilities of what our sources call; needs vuln.go.dev, or VULNDB_CHECKOUT=a checkout of golang/vulndb, or VULNDB=file:///a/copy
	$(if $(VULNDB_CHECKOUT),$(GO) run ./scripts/vulndb '$(VULNDB_CHECKOUT)' bin/vulndb)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULN_VERSION) $(if $(VULNDB_CHECKOUT),-db 'file://$(CURDIR)/bin/vulndb',$(if $(VULNDB),-db $(VULNDB))) ./...

##@ Web

.PHONY: web
web: web/node_modules ## Build the client library, its components and the console
	cd web && npm run build

.PHONY: web-docs
web-docs: web/node_modules ## Reference of the client library and its components from their types, into dist/client-docs and dist/ui-docs
	cd web && npm run docs -w client && npm run docs -w ui

.PHONY: web-if-node
web-if-node:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory web; else echo "no Node here: the console is left out"; fi

web/node_modules: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin .bin dist web/node_modules web/client/dist web/ui/dist
	find web/console/dist -mindepth 1 ! -name .gitkeep -delete 2>/dev/null || true

# Tools are built once per version into a cache folder and linked from here, so
# that their modules never reach go.mod.
.bin/golangci-lint: Makefile
	@$(call tool,golangci-lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_VERSION))

.bin/deadcode: Makefile
	@$(call tool,deadcode,golang.org/x/tools/cmd/deadcode,$(DEADCODE_VERSION))

.bin/nfpm: Makefile
	@$(call tool,nfpm,github.com/goreleaser/nfpm/v2/cmd/nfpm,$(NFPM_VERSION))

.bin/versitygw: Makefile
	@$(call tool,versitygw,github.com/versity/versitygw/cmd/versitygw,$(VERSITYGW_VERSION))

define tool
mkdir -p .bin $(TOOLS)/$(1)-$(3); \
if [ ! -x $(TOOLS)/$(1)-$(3)/$(1) ]; then echo "building $(1) $(3)"; GOBIN=$(TOOLS)/$(1)-$(3) $(GO) install $(2)@$(3); fi; \
ln -sf $(TOOLS)/$(1)-$(3)/$(1) .bin/$(1); touch -h .bin/$(1)
endef
