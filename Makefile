# make help lists the targets. Needed: Go, Python 3.11 or newer and make; the race pass of `make test` needs a C compiler too.

MLFLOW   := 3.17.2
MLFLOWS  := $(MLFLOW) 2.22.5
VERSION  := $(or $(shell git describe --tags --always --dirty 2>/dev/null),devel)
LDFLAGS  := -X github.com/benchbatch/benchbatch/cmd/internal/cli.version=$(VERSION)
SOURCES  := cmd examples executor export mlflow planner scripts
# Packages that do several things at once: tested a second time under the race detector.
PARALLEL := ./executor/... ./mlflow ./planner/...
# Of ./export those tests that read evaluations side by side: the others take minutes under the race detector.
FOLDERS  := ^Test(InOrder|GoldenBytes|Cancelled|Exists|SecretsAreCounted|FolderVerifies|VerdictBytes)

PYTHON   ?= $(or $(shell command -v python3.11 || command -v python3),python3)
export PYTHON
# ALONE FILE COMMAND...: two makes in one clone install one after the other.
ALONE    := $(PYTHON) -c 'import fcntl, subprocess, sys; f = open(sys.argv[1], "w"); fcntl.flock(f, fcntl.LOCK_EX); sys.exit(subprocess.call(sys.argv[2:]))'

.DEFAULT_GOAL := build

.PHONY: help build mlflow mlflow-all readers browser postgres demo test races chaos lint bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/benchbatch
	go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/benchbatch ./cmd/benchbatch

mlflow: mlflow-$(MLFLOW) ## a pinned MLflow server in .mlflow/

mlflow-all: $(MLFLOWS:%=mlflow-%) ## every MLflow version that the tests use

.PHONY: $(MLFLOWS:%=mlflow-%)
$(MLFLOWS:%=mlflow-%): mlflow-%:
	@mkdir -p .mlflow
	@$(ALONE) .mlflow/$*.lock scripts/install-mlflow.sh $*

readers: ## DuckDB, Polars, pyarrow, pandas and SciPy in .readers/, to check the tables and statistics with
	@$(ALONE) .readers.lock scripts/install-readers.sh

browser: ## Chromium, to look at pages and charts with
	@scripts/install-chromium.sh

postgres: mlflow ## PostgreSQL, and what MLflow talks to it with in .postgres/
	@$(ALONE) .postgres.lock scripts/install-postgres.sh $(MLFLOW)

demo: build mlflow ## the whole job on the bundled benchmark, in demo/
	mkdir -p demo
	cd demo && BENCHBATCH_MLFLOW='$(CURDIR)/.mlflow/$(MLFLOW)/bin/mlflow' ../bin/benchbatch demo

test: mlflow-all readers browser postgres ## all tests, against real MLflow servers and a real browser; a skipped test fails
	go vet ./...
	go run ./scripts/gotest -timeout 20m -parallel 4 ./... -- -race $(PARALLEL) -- -race -run '$(FOLDERS)' ./export

RACES ?= 1000
races: mlflow-all postgres ## 32 launchers race for one repeat, RACES=1000 times on SQLite and on PostgreSQL
	go test ./planner/claim -run '^TestRaces$$' -v -count 1 -timeout 4h -args -races $(RACES)

CHAOS ?= 1000
chaos: mlflow ## launchers, runners, MLflow, network and disk fail under batches, CHAOS=1000 faults; BENCHBATCH_CHAOS_SEED repeats the choices
	go test ./cmd/internal/chaos -run '^TestChaos$$' -v -count 1 -timeout 3h -args -faults $(CHAOS) -limit 2h -side 3

lint: ## formatting, tidy modules, vet, golangci-lint
	@unformatted=$$(gofmt -l $(SOURCES)); test -z "$$unformatted" || { echo "not formatted, run gofmt -w on:" $$unformatted >&2; exit 1; }
	@for f in .ci/run scripts/*.sh; do bash -n "$$f" || exit 1; done
	go mod tidy -diff
	go vet ./...
	go tool -modfile=tools.mod golangci-lint run

bench: mlflow readers ## ratios against what a user would use instead
	GOGC=400 GOMEMLIMIT=180MiB go test -run '^$$' -bench . -benchmem -timeout 60m ./...

clean: ## what make made, except the installed servers and readers
	rm -rf bin demo
