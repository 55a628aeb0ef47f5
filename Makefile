# Everything that simulates is built with the toolchain overlay: edited copies
# of the installed Go's own files, which `make overlay` puts into build/.

OVERLAY  := $(abspath build/overlay)
SIMFLAGS := -overlay $(OVERLAY)/overlay.json
# A process that is copied may have no thread that Go did not start.
export CGO_ENABLED := 0
SEED     ?= 7
TARGET   ?= cacher
SEEDS    ?= 1-2000
TRIALS   ?= 20
LAST     ?= 2000
REPLAYS  ?= 200

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: sim
sim: build ## run our cacher for a simulated minute, faults included (SEED=7 TARGET=cacher)
	bin/simrun --seed $(SEED) --target $(TARGET)

.PHONY: swarm
swarm: build ## run many seeds over all cores (SEEDS=1-2000 TARGET=cacher)
	bin/simrun --seeds $(SEEDS) --target $(TARGET)

.PHONY: build
build: overlay ## build bin/simrun
	go build $(SIMFLAGS) -o bin/simrun ./cmd/simrun

.PHONY: overlay
overlay: ## make the toolchain overlay in build/
	@go run ./sim/overlay/write build/overlay >/dev/null

.PHONY: test
test: overlay ## run all tests
	go test -timeout 30m $(SIMFLAGS) ./...

.PHONY: race
race: overlay ## run the tests of the simulation with the race detector
	CGO_ENABLED=1 go test -race $(SIMFLAGS) ./sim/... ./cluster/... ./search/... ./faults/... ./cmd/...

.PHONY: timeline-web
timeline-web: ## make the bundle of the timeline's page from its sources; needs node and npm
	cd traces/timeline/web && npm ci --no-audit --no-fund --ignore-scripts && npm run check && npm run build

.PHONY: lint
lint: overlay ## gofmt, go vet and staticcheck, with and without the overlay
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go build ./... && go vet ./...
	go vet $(SIMFLAGS) ./...
	go tool staticcheck ./...

.PHONY: canary
canary: build ## show that a damaged cacher is caught
	go test $(SIMFLAGS) -count 1 -run 'TestCanary' ./cmd/simrun

.PHONY: a01
a01: build ## hunt a real bug, k/k 116122, in a cacher without its fix; fails if none is caught
	bin/simrun --mutant A01 --scenario reinit --seeds 1-100; test $$? -eq 1

.PHONY: mutate-oracle
mutate-oracle: ## break each rule of the oracle on purpose; fails if no test turns red
	go run ./linearizability/mutate

.PHONY: mutants
mutants: ## hunt every known bug that is put back, and write docs/track-record.md (TRIALS=20; goes on where it was)
	go run ./search/mutant/hunt --trials $(TRIALS) --results docs/track-record.jsonl --table docs/track-record.md

.PHONY: mutants-ci
mutants-ci: ## hunt some of them within a budget each; fails if one is lost
	rm -f out/mutants-ci.jsonl
	go run ./search/mutant/hunt --short --results out/mutants-ci.jsonl

.PHONY: strategies
strategies: ## hunt a few known bugs with each strategy of schedules; and in other runs; the tables go to out/strategies*.md (goes on where it was)
	go run ./search/mutant/hunt --compare --only A01,A03-initial,A07,A23,undrained,uncreated,cacher-A19,cacher-D02 \
		--trials 5 --time 40s --results docs/strategies.jsonl --table out/strategies.md
	go run ./search/mutant/hunt --in "--scenario minute --faults compaction,reset,partition" --in "--scenario tombstone" --only C01 \
		--trials 20 --time 3m --results docs/strategies.jsonl --table out/strategies-C01.md
	go run ./search/mutant/hunt --in "--scenario idle" --in "--scenario silence" --only E02 \
		--trials 20 --time 3m --results docs/strategies.jsonl --table out/strategies-E02.md
	go run ./search/mutant/hunt --in "--scenario reinit" --in "--scenario rewatch" --only cacher-shared-stream \
		--trials 20 --time 5m --results docs/strategies.jsonl --table out/strategies-shared-stream.md

.PHONY: suites
suites: ## run the tests of edited packages with each edit, as their authors would; hours, and goes on where it was
	go run ./search/mutant/hunt --suites --results docs/track-record.jsonl --table docs/track-record.md

.PHONY: replays
replays: ## record failures of many known bugs, and replay each in a process of its own (REPLAYS=200)
	go run ./search/mutant/replays -count $(REPLAYS)

.PHONY: shrink-record
shrink-record: ## find a failing run of each bug and make it smaller, and write docs/shrinking.md (goes on where it was)
	go run ./search/mutant/hunt --trials 1 --time 1m --results docs/shrinking.jsonl; test $$? -le 1
	go run ./search/mutant/hunt --shrink --results docs/shrinking.jsonl --table docs/shrinking.md

.PHONY: released
released: ## build the released versions of cluster/released and find in them what docs/released-versions.md says; minutes the first time (LAST=2000 seeds at most)
	go test -count 1 -timeout 60m ./search/selfbuild -build -last $(LAST) -v

.PHONY: campaign-dry-run
campaign-dry-run: build ## run deploy/indexed-job.yaml as four processes and kill one of them (SEEDS=1-2000)
	rm -rf out/dry-run
	go run ./deploy/dryrun -completions 4 -parallelism 2 -kill 1 -- --seeds=$(SEEDS) --workers=1

.PHONY: bench
bench: build bench-cacher ## measure speed, checking, memory, the scheduler and the oracle, and the watch cache
	go run ./search/bench

.PHONY: bench-cacher
bench-cacher: ## measure the watch cache against Kubernetes' own (BENCHFLAGS=-quick)
	go run ./cacher/bench $(BENCHFLAGS)

.PHONY: experiment
experiment: ## measure what 10,000 watches cost etcd, with and without a cache
	go run ./cacher/experiment

.PHONY: clean
clean: ## remove what was built and run
	rm -rf build bin out
