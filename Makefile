# Everything that Runnel needs on a machine is installed from here, at pinned
# versions, into .cache/ and Go's own caches. `make help` lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN   := .cache/bin
GO    := go
# Without grpc's x/net/trace the linker drops ten megabytes of unused methods.
RELEASE := -tags=grpcnotrace -trimpath -ldflags='-s -w'
ARGS  ?=
# What `make lint` compares the API with: the published main branch.
BASE  ?= $(shell git rev-parse --quiet --verify origin/main || git rev-parse HEAD)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: demo
demo: assets ## show the main job: a real API server, a changing workload, its stream (ARGS=--for=20s ends by itself)
	@$(GO) build -o bin/demo ./examples/demo
	@exec bin/demo $(ARGS)

.PHONY: test
test: assets ## all tests with the race detector: unit, bufconn and real API server
	$(GO) test -race -timeout 20m ./...

.PHONY: build
build: check-go ## build bin/runnel
	CGO_ENABLED=0 $(GO) build $(RELEASE) -o bin/ ./cmd/runnel

.PHONY: bench
bench: check-go ## benchmarks; read the ratios, not the times
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

.PHONY: bench-churn
bench-churn: assets ## the bytes of patches against whole objects under real Pod churn (builds 3 minutes, once)
	@$(GO) build -o bin/churn ./deploy/local/churn
	@exec bin/churn $(ARGS)

.PHONY: bench-restart
bench-restart: assets ## the bytes of coming back after a restart against a snapshot's: 1,000 subscribers, 10,000 objects
	@$(GO) build -o bin/restart ./deploy/local/restart
	@exec bin/restart $(ARGS)

.PHONY: faults
faults: check-go ## plant known faults one by one and see the model tests catch each
	$(GO) run ./internal/faults

FUZZTIME ?= 30s

.PHONY: fuzz
fuzz: check-go ## feed every parser of outside input what nobody would send, each for FUZZTIME (30s)
	@grep -rho --include='*_test.go' --exclude-dir=.cache '^func Fuzz[A-Za-z]*' . | wc -l | xargs printf '%s fuzz targets, each for $(FUZZTIME)\n'
	@grep -ro --include='*_test.go' --exclude-dir=.cache '^func Fuzz[A-Za-z]*' . | while IFS=: read -r file func; do \
		$(GO) test "$${file%/*}" -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) || exit 1; done

.PHONY: assets
assets: check-go ## build kube-apiserver and etcd, if need be (5 minutes, once)
	@$(GO) run ./deploy/local build >/dev/null

.PHONY: generate
generate: $(BIN)/buf $(BIN)/protoc-gen-go ## generate the Go code of the API
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/buf generate

.PHONY: lint
lint: $(BIN)/buf $(BIN)/golangci-lint ## check the API and the code
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code
	if git cat-file -e '$(BASE):proto' 2>/dev/null; then $(BIN)/buf breaking --against '.git#ref=$(BASE)'; fi
	$(BIN)/golangci-lint run ./...

.PHONY: tools
tools: $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/golangci-lint ## build the pinned tools into .cache/bin

# Each nested module pins the tools in it; -C makes its go.mod count.
define build-tools
	@echo 'building the tools of internal/tools/$(1) (first time only)'
	@$(GO) -C internal/tools/$(1) build -o '$(CURDIR)/$(BIN)/' tool
	@touch $(BIN)/*
endef

$(BIN)/buf: internal/tools/buf/go.mod | check-go
	$(call build-tools,buf)
$(BIN)/protoc-gen-go: internal/tools/gen/go.mod | check-go
	$(call build-tools,gen)
$(BIN)/golangci-lint: internal/tools/lint/go.mod | check-go
	$(call build-tools,lint)

# grpcurl comes with the generators.
$(BIN)/grpcurl: $(BIN)/protoc-gen-go

.PHONY: check-go
check-go:
	@command -v $(GO) >/dev/null || { echo 'make: Go 1.26 or newer is needed, and there is no go in PATH' >&2; exit 1; }
	@v=$$($(GO) env GOVERSION 2>&1) || { echo "make: Go 1.26 or newer is needed: $$v" >&2; exit 1; }; \
	case "$$v" in go1.[0-9]|go1.[0-9].*|go1.[01][0-9]*|go1.2[0-5]*) echo "make: Go 1.26 or newer is needed; this is $$v" >&2; exit 1;; esac
	@command -v $${CC:-cc} >/dev/null || { echo 'make: a C compiler is needed for the race detector, and there is no cc in PATH' >&2; exit 1; }

.PHONY: clean
clean: ## remove what was built here (the control plane stays in the user's cache)
	rm -rf bin .cache
