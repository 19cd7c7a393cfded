# Makefile of Trident; make help lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Other targets read files that generate rewrites.
.NOTPARALLEL:

PORT ?= 9000

# -trimpath removes the clone's path from compiled code, so that all clones share Go's build cache and golangci-lint's.
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS 2>/dev/null)) -trimpath

# Each tool is a separate Go module, which pins its version. Tools are built on first use.
TOOL := go tool -modfile=tools/go.mod
BUF  := go tool -modfile=tools/buf/go.mod buf
LINT := go tool -modfile=tools/lint/go.mod golangci-lint
# SUITE runs suites of tests; test/suite/suites.go lists them.
SUITE := go run ./test/suite

# GENERATED lists the outputs of generate.
GENERATED := gen web/client/dist web/dist THIRD_PARTY_NOTICES docs/reference/typed-api.md docs/reference/http-*.md

# cmd/trident/main.go contains the version. A build of a commit without the version's tag also has the commit's hash.
RELEASE := $(shell sed -n 's/^var version = "\(.*\)"$$/\1/p' cmd/trident/main.go)
VERSION := $(shell if [ "$$(git describe --tags --dirty 2>/dev/null)" = 'v$(RELEASE)' ]; then echo '$(RELEASE)'; \
	else git describe --always --exclude '*' --dirty 2>/dev/null | sed 's/^/$(RELEASE)-/' | grep . || echo '$(RELEASE)'; fi)

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install Triton and the engines of the demo models into .venv
	@tools/setup.sh

.PHONY: setup-test
setup-test: ## Run setup, and install the dependencies of the tests into .venv-test
	@tools/setup.sh --test
	@tools/setup-browser.sh
	@tools/setup-promtool.sh
	@tools/setup-haproxy.sh
	@tools/setup-proxies.sh
	@tools/setup-redis.sh

.PHONY: build
build: ## Build bin/trident (CGO_ENABLED=0 omits the in-process engine)
	@mkdir -p bin
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/trident ./cmd/trident

# Zig compiles the C parts, so that the binaries don't need a newer glibc than older systems have. tridentrelease
# checks the needed version.
.PHONY: release
release: ## Build archives, wheels, packages, the npm client, the chart, SBOMs and checksums in dist/ (VERSION=... sets the version)
	@tools/setup-release.sh
	go run ./cmd/tridentrelease --version=$(VERSION)

.PHONY: vulnerabilities
vulnerabilities: ## Look up known vulnerabilities of the dependencies, and write docs/vulnerabilities.md
	cd tools/release && go run ./vulnerabilities --out=$(CURDIR)/docs/vulnerabilities.md

.PHONY: run
run: setup build ## Build trident and serve the demo models on 127.0.0.1:9000 (PORT=... sets another port)
	@go build -o bin/demo ./test/demo
	@exec bin/demo -port $(PORT)

.PHONY: recording
recording: setup build ## Record the session in the README on a real server, and write docs/terminal-light.svg and docs/terminal-dark.svg
	cd tools && go run ./recording -port $(PORT)

.PHONY: generate
generate: ## Generate gen/, web/client/dist, web/dist, THIRD_PARTY_NOTICES and pages of docs/reference from their sources
	rm -rf gen
	$(BUF) generate
	mkdir -p gen/go/openai gen/go/anthropic gen/go/encoders gen/go/kserverest
	$(TOOL) oapi-codegen -config openapi/openai.codegen.yaml openapi/openai.yaml
	$(TOOL) oapi-codegen -config openapi/anthropic.codegen.yaml openapi/anthropic.yaml
	$(TOOL) oapi-codegen -config openapi/encoders.codegen.yaml openapi/encoders.yaml
	$(TOOL) oapi-codegen -config openapi/kserve.codegen.yaml openapi/kserve.yaml
	tools/playground.sh
	tools/notices.sh > THIRD_PARTY_NOTICES
	for api in openai anthropic encoders kserve; do \
		go run -C tools ./reference $(CURDIR)/openapi/$$api.yaml $(CURDIR)/docs/reference/http-$$api.md; done

.PHONY: playground
playground: ## Generate only the npm client (web/client/dist) and the playground (web/dist); needs node and npm
	tools/playground.sh

.PHONY: generate-check
generate-check: generate ## Run generate and fail if a generated file changes
	@git diff --exit-code --stat -- $(GENERATED) && test -z "$$(git status --porcelain -- $(GENERATED))" || \
		{ echo '$(GENERATED): differs from the output of make generate: run it and commit the result' >&2; exit 1; }

.PHONY: breaking-accept
breaking-accept: ## Set the current api/ as the baseline of buf breaking
	$(BUF) build --exclude-source-info -o api/baseline.binpb

# Go's build cache has the files that cgo writes with the path of the clone that wrote them first, which -trimpath takes
# out of compiled code only. The flag makes cgo's part of the cache one for each clone, so that lint reads its own files.
.PHONY: lint
lint: export CGO_CFLAGS := $(shell go env CGO_CFLAGS) -ffile-prefix-map=$(CURDIR)=.
lint: ## Run the static checks of Go and of the protos
	$(BUF) lint
	$(BUF) format -d --exit-code
	$(BUF) breaking --against api/baseline.binpb
	$(LINT) run --allow-parallel-runners ./...
	go vet ./...
	cd test/e2e/sdk && go vet ./...
	cd test/epp && go vet ./...

# The package is in the module in tools/, so ./... of this module doesn't include it.
.PHONY: words
words: ## Check the English of comments, help, errors and commit subjects (WORDS='--all services/auth' prints all hits there)
	cd tools && go vet ./words && go test ./words && go run ./words check $(WORDS)

.PHONY: words-update
words-update: ## Lower the allowed hits in tools/words/remaining.txt to those of the tree
	cd tools && go run ./words check --update

.PHONY: words-sample
words-sample: ## Print a random sample of comments, help and errors (SEED=77d73497; WORDS=--docs draws from the documentation, WORDS=--blind omits the places)
	@cd tools && go run ./words sample --seed $(SEED) $(WORDS)

.PHONY: docs
docs: setup-test ## Build the documentation's site in dist/docs, and check its links (VERSION=... sets the version)
	@tools/setup-docs.sh
	.venv-docs/bin/python tools/docs/build.py '$(VERSION)' dist/docs

.PHONY: docs-check
docs-check: setup-test ## Check the spelling of the documentation, and the generators of its reference pages
	@tools/npm-ci.sh tools/docs
	.venv-test/bin/node tools/docs/node_modules/cspell/bin.mjs --config tools/docs/cspell.json --no-progress --show-suggestions
	.venv-test/bin/python -B tools/docs/build_test.py
	cd tools && go vet ./reference && go test ./reference

.PHONY: docs-blocks
docs-blocks: ## Count the code blocks of the documentation that run, are checked, and are never run
	@go run ./test/docs

.PHONY: fmt
fmt: ## Format the Go sources and the protos
	$(LINT) fmt
	$(BUF) format -w

.PHONY: test
test: setup-test ## Run the unit and end-to-end tests on a real Triton, with the race detector
	$(SUITE) test unit e2e

.PHONY: test-short
test-short: ## Run the tests that need no setup
	go test -race -short ./...

.PHONY: test-local
test-local: setup-test ## Run the tests of in-process Triton (minutes)
	$(SUITE) test local kserve-local e2e-local

.PHONY: clients
clients: setup-test ## Run published clients and agents, unmodified, against a real Triton (minutes; installs 6 GB)
	@tools/setup-clients.sh
	TRIDENT_TEST_CLIENTS=1 go test -v -count 1 -timeout 60m ./test/clients

# No Go module contains the definitions of KServe, of InferencePool and of LeaderWorkerSet.
.PHONY: test-kube
test-kube: ## Install the Helm chart and the examples in a kube-apiserver, built once in 8 minutes (TRIDENT_TEST_CRDS=FOLDER adds KServe's kinds)
	@tools/setup-kube.sh
	TRIDENT_TEST_SLOW=1 TRIDENT_TEST_KUBE=.cache/kube $(SUITE) count --needs=TRIDENT_TEST_CRDS -- -v -timeout 20m ./test/kube

.PHONY: test-valkey
test-valkey: setup ## Run the tests of the shared store on Valkey
	@tools/setup-valkey.sh
	TRIDENT_STORE_SERVER=$(CURDIR)/.venv-valkey/bin/valkey-server $(SUITE) count --needs=TRIDENT_STORE_SERVER -- \
		-run 'Store|Shared|Replica|Rates|Lease|Away|Record|Password' ./services/state ./services/openai/responses ./cmd/trident

# Both builds of a release take minutes. Without Debian's rpm and qemu-user, their cases are skipped.
.PHONY: test-release
test-release: setup-test ## Build a release twice, compare the bytes, and install and start each of its files
	@tools/setup-release.sh
	@tools/setup-packages.sh
	cd tools/release && go vet ./... && go test ./...
	TRIDENT_TEST_RELEASE=1 $(SUITE) count -- -v -timeout 40m ./test/release

# The address sanitizer detects errors that Go's race detector can't: uses after free and out of bounds in the shim's C
# and in Go's views of C memory, and leaks at the end. TestCycles is skipped, because it is slow and covers nothing that
# the other tests don't. A small quarantine delays the reuse of freed memory to detect late uses; a large one looks like
# memory growth to the tests. The linker flags keep function names for the reports, and load the C++ library before
# Triton's, which the sanitizer needs to pass on exceptions.
.PHONY: test-asan
test-asan: setup-test ## Run the tests of in-process Triton under the address sanitizer (needs gcc or clang; minutes)
	TRIDENT_TEST_LOCAL=1 ASAN_OPTIONS=quarantine_size_mb=4 \
		go test -asan -ldflags='-s=0 -w=0 -extldflags=-Wl,--no-as-needed,-lstdc++' -timeout 20m -skip TestCycles ./services/triton/local

# The engine finds Triton in its default folder; NVIDIA's containers have it there. Nothing is installed.
.PHONY: test-gpu
test-gpu: ## Run the engine suite and a model with outputs in GPU memory; skipped without a GPU
	TRIDENT_TEST_GPU=1 go test -v -timeout 20m -run '^TestGPU$$' ./services/triton/local

.PHONY: test-epp
test-epp: setup-test ## Run llm-d's endpoint picker (EPP=PATH of its program) in front of three Tridents; skipped without EPP
	@TRIDENT_TEST_EPP='$(EPP)' $(SUITE) count --needs TRIDENT_TEST_EPP --in test/epp -- -timeout 20m ./...

.PHONY: test-vllm
test-vllm: ## Run the vLLM tests on Triton's vLLM backend (docs/contributing/vllm-testing.md); skipped without one
	go test -v -count 1 -timeout 30m -run '^TestVLLM$$' ./test/e2e

.PHONY: test-vllm-generated
test-vllm-generated: ## Send 500 generated structured outputs to Triton's vLLM backend, in two orders; skipped without one
	go test -v -count 1 -timeout 180m -run '^TestVLLMGenerated$$' ./test/e2e

.PHONY: test-vllm-death
test-vllm-death: ## Kill the engine of Triton's vLLM backend under 50 streams; skipped without one
	go test -v -count 1 -timeout 30m -run '^TestVLLMDeath$$' ./test/e2e

# Generating the requests takes longer than answering them: about 30 requests per second on two cores, fewer for chats.
.PHONY: fuzz
fuzz: setup-test ## Fuzz each operation with 10,000 requests generated from the OpenAPI documents (hours; CASES=... sets the number)
	TRIDENT_TEST_FUZZ=$${CASES:-10000} go test -timeout 48h -v -run '^TestFuzz$$/^contract$$' ./test/e2e

FUZZED := nice -n 10 go test -race -timeout 20m ./test/e2e -run

.PHONY: fuzz-short
fuzz-short: fuzz-targets fuzz-contract fuzz-demo ## Run fuzz-targets, fuzz-contract and fuzz-demo

.PHONY: fuzz-targets fuzz-contract fuzz-demo
fuzz-targets: ## Run each Go fuzz target for 30 s (EACH=... sets the seconds)
	nice -n 10 tools/fuzz.sh $${EACH:-30}
fuzz-contract: setup-test ## Fuzz each operation with 200 requests generated from the OpenAPI documents
	TRIDENT_TEST_FUZZ=200 $(FUZZED) '^TestFuzz$$/^contract$$'
fuzz-demo: setup-test ## Fuzz each operation of the demo models with 50 requests generated from the OpenAPI documents
	TRIDENT_TEST_FUZZ_SLOW=50 $(FUZZED) '^TestFuzz$$/^demo'

# All files of a run are in .cache/soak. A run needs a whole machine, because its bounds are those of a busy server.
.PHONY: soak
soak: setup build ## Inject faults under 1,000 streams and check the recovery (DURATION=30m; SOAK=... adds options such as --engine=local)
	@go build -trimpath -o bin/soak ./test/soak
	bin/soak --duration=$${DURATION:-30m} $(SOAK)

.PHONY: soak-short
soak-short: setup build ## Inject each fault once under 100 streams and check the recovery (six minutes)
	@go build -trimpath -o bin/soak ./test/soak
	bin/soak --duration=$${DURATION:-5m} --streams=$${STREAMS:-100} --calm=1s $(SOAK)

.PHONY: soak-local
soak-local: setup build ## Run soak-short with in-process Triton
	@go build -trimpath -o bin/soak ./test/soak
	bin/soak --engine=local --duration=$${DURATION:-5m} --streams=$${STREAMS:-100} --calm=1s $(SOAK)

# All files of a run are in .cache/soak-fleet. The load is paced so that two cores serve it.
.PHONY: soak-fleet
soak-fleet: setup build ## Inject faults at each of four tritonservers in DNS under 200 streams and check the recovery (ten minutes)
	@go build -trimpath -o bin/soak ./test/soak
	bin/soak --engine=fleet --duration=$${DURATION:-1s} --streams=$${STREAMS:-200} --each=$${EACH:-4} --calm=4s $(SOAK)

.PHONY: soak-fleet-short
soak-fleet-short: ## Inject each fault of soak-fleet at one server only
	@$(MAKE) soak-fleet EACH=1

# The source tree stays unchanged: the go command gets each mutation as an overlay.
.PHONY: mutations
mutations: setup-test ## Check that the tests catch each defect in test/mutations/list (minutes; MUTATIONS='--run=auth' selects some)
	@go build -trimpath -o bin/mutations ./test/mutations
	bin/mutations $(MUTATIONS)

.PHONY: bench
bench: setup build ## Measure Trident beside Triton's core, bare clients and peers, and write docs/performance.md (40 minutes)
	@go build -trimpath -o bin/tridentbench ./cmd/tridentbench
	bin/tridentbench --json=.cache/bench.json --report=docs/performance.md $(BENCH)

.PHONY: bench-peers
bench-peers: setup build ## Measure Trident beside the servers in PEERS, and write docs/performance.md and its charts (25 minutes; PEERS='--frontend PROGRAM --openai-trtllm PROGRAM')
	@go build -trimpath -o bin/tridentbench ./cmd/tridentbench
	bin/tridentbench peers --json=.cache/bench-peers.json --report=docs/performance.md --charts=docs $(PEERS)

.PHONY: bench-fleet
bench-fleet: setup build ## Measure Trident in front of four servers beside the routers of SGLang and vLLM, and write docs/guides/scale.md (15 minutes)
	@tools/setup-routers.sh
	@go build -trimpath -o bin/tridentbench ./cmd/tridentbench
	bin/tridentbench fleet --json=.cache/bench-fleet.json --report=docs/guides/scale.md $(BENCH)

.PHONY: bench-compare
bench-compare: setup build ## Compare the CPU time, allocations and rates of the working tree with a commit (BASE=COMMIT; ten minutes)
	@go build -trimpath -o bin/tridentbench ./cmd/tridentbench
	bin/tridentbench compare --json=.cache/bench-compare/report.json $(BENCH) -- '$(BASE)'

.PHONY: encoders
encoders: setup-test ## Compare vectors and scores with fresh ones of sentence-transformers on the same weights (minutes; installs 8 GB)
	@tools/setup-encoders.sh
	TRIDENT_TEST_SLOW=1 go test -v -count 1 -timeout 60m -run '^TestEncoders$$' ./test/e2e

.PHONY: bench-encoders
bench-encoders: setup build ## Compare embeddings with a loop of ONNX Runtime on the same texts, and write docs/guides/encoders.md (ENCODERS='--peer infinity' after tools/setup-infinity.sh)
	@go build -trimpath -o bin/tridentbench ./cmd/tridentbench
	bin/tridentbench encoders --json=.cache/bench-encoders.json --report=docs/guides/encoders.md $(ENCODERS)

.PHONY: bench-genai
bench-genai: setup build ## Run NVIDIA's benchmark AIPerf against the chat endpoint
	@tools/setup-bench.sh
	@go build -trimpath -o bin/tridentbench ./cmd/tridentbench
	bin/tridentbench aiperf $(GENAI)

.PHONY: bench-go
bench-go: ## Run the Go benchmarks; benchstat compares two runs
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: check
check: ## Run what CI runs: lint, cross builds, generated code, deploy's files, and all tests of the check tier
	$(SUITE) check

.PHONY: check-slow
check-slow: setup-test ## Run the slow tier, except suites that passed on this tree (SLOW=--list, SLOW='--only soak-short')
	$(SUITE) slow $(SLOW)

.PHONY: flake
flake: setup-test ## Run the unit tests N times and the end-to-end tests N/2 times while two cores are busy (N=10)
	$(SUITE) flake -n $${N:-10}

.PHONY: inventory
inventory: ## Add the new tests of the last runs to test/inventory.txt
	$(SUITE) inventory

.PHONY: deploy-check
deploy-check: setup-test ## Check the files of deploy/ and the shell scripts with their tools
	cd test/deploy && go vet ./... && go test -count 1 ./...
	cd test/epp && go test -count 1 -run '^TestEnvoyConfiguration$$' .

.PHONY: cross
cross: ## Build trident without cgo for all platforms
	@for target in linux/amd64 linux/arm64 darwin/arm64; do \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build -o /dev/null ./cmd/trident; done

# Limits on time and memory are measured without the race detector.
.PHONY: measured
measured: setup-test ## Run the tests of limits on time and memory
	go test -count 1 -run '^(TestInferJSONTime|TestStreamMemory)$$' ./services/kserve ./services/kserve/rest
	TRIDENT_TEST_SLOW=1 go test -count 1 -run '^TestMemoryComesBack$$' ./test/cost
	$(MAKE) bench-tokenizer

# The test trains a vocabulary for each family of encoder models, which takes most of its time.
.PHONY: bench-tokenizer
bench-tokenizer: setup-test ## Compare the speed of the tokenizer with Hugging Face's, one thread each; fails below twice the speed
	TRIDENT_TEST_SLOW=1 go test -count 1 -v -timeout 30m -run '^TestSpeed$$' ./services/tokenizer

# The suite measures CPU time and memory of one process. Other processes on the machine increase both.
.PHONY: cost
cost: setup-test ## Measure the cost of hostile requests for each field of each API (three minutes; COST='--only logit_bias')
	go run ./test/cost $(COST)

# The race detector makes a simulation sixty times slower.
.PHONY: simulation
simulation: setup ## Simulate the choice of an endpoint, compare it with the rules of other projects, and with four real servers
	TRIDENT_TEST_SLOW=1 go test -count 1 -timeout 40m ./cmd/tridentsim

.PHONY: bench-quick
bench-quick: setup build ## Run the main scenarios of the benches and a comparison for seconds, to check that they work
	@go build -trimpath -o bin/tridentbench ./cmd/tridentbench
	bin/tridentbench --quick
	bin/tridentbench peers --quick
	bin/tridentbench fleet --quick --no-routers
	bin/tridentbench compare HEAD --rounds 1 --scenario flat-64 --scenario infer-1k-64

.PHONY: clean
clean: ## Remove all files that make built and installed in this clone
	rm -rf bin dist .cache .venv .venv-test .venv-docs .venv-bench .venv-release .venv-packages .venv-routers .venv-encoders .venv-infinity .venv-vllm .venv-clients-* examples/web-connect/dist {web,examples,test,test/e2e,tools}/*/node_modules

.PHONY: clean-cache
clean-cache: ## Remove the cache that all clones share: downloads and installed packages (TRIDENT_CACHE)
	@. tools/cache.sh && lock_cache && clean_cache
