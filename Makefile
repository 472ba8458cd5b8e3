# `make` lists what there is. Needs Go, make and python3, and Node.js for three targets; everything else is installed by
# pinned version.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

MODULE  := github.com/oncekey/oncekey
LINT    := go tool -modfile=.ci/tools/go.mod golangci-lint
VENV    := .cache/venv
# The SAM CLI asks for a region, and is to tell nobody what it does.
SAM     := SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 $(CURDIR)/$(VENV)/bin/sam
LAMBDA  := GOOS=linux GOARCH=arm64
BUILD   := CGO_ENABLED=0 go build -tags lambda.norpc -trimpath -ldflags '-s -w'
FUNCTIONS := ./lambda/payments ./lambda/quickstart
# ./... leaves dot folders out.
PACKAGES := ./... ./.ci/bench ./.ci/coldstart/... ./.ci/cost ./.ci/dashboard ./.ci/differences ./.ci/mutants ./.ci/page ./.ci/peers/... ./.ci/readme \
	./.ci/snippets ./.ci/words

ARTIFACTS_DIR ?= .cache/build
FUZZTIME      ?= 30s
COUNT         ?= 50
RUN           ?= .

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-zA-Z-]+:.*## / {printf "%-22s %s\n", $$1, $$2}' Makefile

.PHONY: test
test: ## Run the tests; one to two minutes.
	go test ./...

.PHONY: check
check: modules format compile lint docs validate cover ledger ## Run all that a change has to pass; edits nothing.

.PHONY: demo
demo: ## Run the payments function and its worker through retries, lost replies and crashes, on this machine.
	go run ./lambda/payments/demo

ADDR ?= 127.0.0.1:3000
DOOR ?= http-api

.PHONY: serve
serve: ## Keep the payments function up behind the front door DOOR on ADDR, and print its console's address and curl lines.
	go run ./lambda/payments/demo -serve $(ADDR) -door $(DOOR)

.PHONY: console
console: ## Press the buttons of serve's console in a headless browser; PICTURE=file.png keeps a picture. Needs Node.js and npm, fetches 120 MB.
	.ci/console/run $(PICTURE)

.PHONY: readme
readme: ## Run what the documents tell their reader to type, in a new module where a user would; a minute or two.
	go run ./.ci/readme -run

.PHONY: build build-PaymentsFunction build-ReconcileFunction build-CommissionFunction
build: build-PaymentsFunction ## Build the payments function for Lambda into ARTIFACTS_DIR.
build-PaymentsFunction build-ReconcileFunction build-CommissionFunction: # what `sam build` calls: one binary, FRONT_DOOR says which it is
	$(LAMBDA) $(BUILD) -o '$(ARTIFACTS_DIR)/bootstrap' ./lambda/payments

.PHONY: validate
validate: $(VENV)/installed ## Check template.yaml with the SAM CLI and cfn-lint, also as CloudFormation gets it.
	$(SAM) validate --lint --template template.yaml
	$(VENV)/bin/cfn-lint template.yaml
	$(VENV)/bin/python .ci/transform.py template.yaml > .cache/template.json
	$(VENV)/bin/cfn-lint .cache/template.json

.PHONY: sam
sam: $(VENV)/installed ## Build all functions as `sam deploy` wants them, from a copy of what is committed.
	rm -rf .cache/sam
	git clone --quiet . .cache/sam
	cd .cache/sam && $(SAM) build
	rm -rf .cache/sam

$(VENV)/installed: .ci/requirements.txt
	python3 -m venv --clear $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

.PHONY: dashboard drawn
dashboard: drawn ## Draw template.yaml's dashboard from an hour of the functions in virtual time.
	cp .cache/dashboard.svg lambda/payments/dashboard.svg
drawn:
	mkdir -p .cache
	go test -count=1 -run '^TestTemplate_WatchesWhatIsWritten$$' ./lambda/payments -hour '$(CURDIR)/.cache/hour'
	go run ./.ci/dashboard template.yaml .cache/hour > .cache/dashboard.svg

.PHONY: test-dynamodb-local
test-dynamodb-local: ## Run the tests on the DynamoDB that the environment names, as README says; count what is skipped.
	.ci/real

.PHONY: independent
independent: ## Hold the embedded DynamoDB against dynalite and moto; needs Node.js and npm, fetches 150 MB.
	.ci/independent/run

.PHONY: emulator
emulator: ## Run the payments function under AWS's own emulator of Lambda's runtime.
	.ci/rie/run

.PHONY: clients
clients: ## Run the AWS CLI and SDKs of other languages against the embedded DynamoDB; fetches 250 MB.
	.ci/clients/run

# QUICK=quick takes a part of the cells, schedules, histories, configurations and fuzzing, and all mutants.
QUICK     ?=
SCHEDULES := $(if $(QUICK),2000,50000)
FROM      ?= 1
# What a test that passes has to tell, and all that fails.
TELL := grep -vE '^ *(=== |--- PASS|PASS$$)'
.PHONY: proof sim history crashes model mutants soak
proof: crashes sim history model mutants ## Hold the invariants against crashes, chance, histories, the model and mutants; half an hour.
	$(MAKE) --no-print-directory fuzz FUZZTIME=$(if $(QUICK),2s,20s)
sim: ## Run 100,000 schedules of the two simulations, half of them each, or others with FROM=100001; ten minutes.
	go test -count=1 -timeout=3h -v -run '^Test(Simulation|Ledger)$$' ./idempotency -sim.from=$(FROM) -sim.schedules=$(SCHEDULES) -ledger.schedules=$(SCHEDULES) | $(TELL)
history: ## Check histories of real goroutines against one key, served one request at a time; a minute.
	go test -count=1 -timeout=10m -v -run '^TestHistory' ./idempotency -history.time=$(if $(QUICK),5s,1m) | $(TELL)
crashes: ## Kill and cut off processes at every call of every path; a minute or two.
	go test -count=1 -timeout=15m -v ./lambda/crashes $(if $(QUICK),,-crashes.all) | $(TELL)
model: ## Check the record protocol's model with spin, and each of its guards removed; two to five minutes, installs spin.
	.ci/model $(QUICK)
mutants: ## Take each guard out of the code in turn, and see a test fail for it; ten to twenty minutes.
	go run ./.ci/mutants
soak: ## Ten minutes of a thousand requests a second on a table with faults, then a million schedules: an hour and a quarter.
	go test -count=1 -timeout=30m -v -run '^TestSoak$$' ./idempotency -soak.time=10m
	$(MAKE) --no-print-directory sim SCHEDULES=500000

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME.
	.ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## Hold the library to its budgets, against calls written by hand; WRITE=file.md keeps the tables. Some minutes; valgrind or perf count instructions.
	go run ./.ci/bench $(if $(WRITE),-write '$(WRITE)')

.PHONY: bench-peers
bench-peers: ## Compare with Powertools (TypeScript and Python) on the embedded DynamoDB; WRITE=file.md keeps the table. Two minutes, fetches 90 MB.
	.ci/peers/run $(if $(WRITE),-write '$(WRITE)')

.PHONY: cost coldstart
cost: ## Bill a request of each path and size, and write the tables into README.md.
	go run ./.ci/cost -write README.md
coldstart: ## Measure what the library adds to a function's start and size; fails above the budgets.
	go run ./.ci/coldstart

.PHONY: stress
stress: ## Run the tests that match RUN, COUNT times, with the race detector.
	go test -race -shuffle=on -count=$(COUNT) -timeout=60m -run '$(RUN)' ./...

.PHONY: fix
fix: ## Format the Go files and bring README.md's snippets up to date.
	$(LINT) fmt $(PACKAGES)
	go run ./.ci/snippets -fix

.PHONY: clean
clean: ## Remove what these targets made.
	rm -rf .cache .aws-sam

# The parts of check, cheap first.
.PHONY: modules format compile lint docs cover ledger
modules:
	go mod tidy -diff
	go mod verify
	.ci/dependencies
	go -C .ci/rie mod tidy -diff
format:
	$(LINT) fmt --diff $(PACKAGES)
	go -C .ci/rie tool -modfile=../tools/go.mod golangci-lint fmt --diff ./...
compile:
	go build $(PACKAGES)
	$(LAMBDA) $(BUILD) -o .cache/compile/ $(FUNCTIONS)
lint:
	$(LINT) run $(PACKAGES)
	go -C .ci/rie tool -modfile=../tools/go.mod golangci-lint run ./...
docs: drawn
	go run ./.ci/words
	go run ./.ci/snippets
	go run ./.ci/readme
	go run ./.ci/cost -check README.md
	@cmp .cache/dashboard.svg lambda/payments/dashboard.svg || { echo 'the dashboard has changed: make dashboard' >&2; exit 1; }
cover:
	mkdir -p .cache
	go test -race -shuffle=on -count=1 -timeout=20m -coverprofile=.cache/cover.out $(PACKAGES)
	@awk -v pkg=$(MODULE)/idempotency -v floor=90 -f .ci/coverage.awk .cache/cover.out
# The transactions' property at full length, without the race detector: a minute or two.
ledger:
	go test -count=1 -timeout=20m -run '^TestLedger$$' ./idempotency -ledger.schedules=10000
