# Everything that simulates is built with the toolchain overlay: edited copies
# of the installed Go's own files, which `make overlay` puts into build/.

OVERLAY  := $(abspath build/overlay)
SIMFLAGS := -overlay $(OVERLAY)/overlay.json -tags watchsim
# A process that is copied may have no thread that Go did not start.
export CGO_ENABLED := 0
SEED     ?= 7
TARGET   ?= cacher
SEEDS    ?= 1-2000
TRIALS   ?= 5
LAST     ?= 2000
REPLAYS  ?= 200
EXAMPLE_SEEDS ?= 10
CONTROLPLANE_SEEDS ?= 2

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
	CGO_ENABLED=1 go test -race $(SIMFLAGS) ./sim/... ./cluster/... ./search/... ./faults/... ./simrun/...
	go test -race -count 1 -run 'TestDataRacesAreFound|TestTheRaceDetectorChangesNoRun' ./simtest

.PHONY: timeline-web
timeline-web: ## make the bundle of the timeline's page from its sources; needs node and npm
	cd traces/timeline/web && npm ci --no-audit --no-fund --ignore-scripts && npm run check && npm run build

.PHONY: lint
lint: overlay ## gofmt, go vet and staticcheck, with and without the overlay, which is vetted itself
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go build ./... && go vet ./...
	go vet $(SIMFLAGS) ./...
	go vet -overlay $(OVERLAY)/overlay.json runtime net os syscall internal/sync internal/abi
	go tool staticcheck -tags watchsim ./...
	$(MAKE) vet-findings

# The programs of docs/findings are a module of their own, without the simulator.
FINDINGS := docs/findings/reproducers

.PHONY: vet-findings
vet-findings: ## build and vet the reproducers of docs/findings, and check that its patches apply
	cd $(FINDINGS) && go vet ./... && go build -o /dev/null ./...
	cd $(FINDINGS)/kine && go vet ./... && go build -o /dev/null ./...
	cd $(FINDINGS)/controllers && go vet ./... && go build -o /dev/null ./...
	for patch in docs/findings/patches/finding-*.patch; do finding=$${patch##*-}; docs/findings/patches/check $${finding%.patch} --applies || exit 1; done

# The examples are modules of their own, as those of users are.
.PHONY: examples
examples: ## vet and test the examples without a control plane, with a few seeds each (EXAMPLE_SEEDS=10)
	cd examples/operator && go vet ./... && go test -count 1 -simtest.seeds $(EXAMPLE_SEEDS) .
	cd examples/controller && go vet ./... && go test -count 1 -cover -simtest.seeds $(EXAMPLE_SEEDS) . >../../build/covered.txt; \
		status=$$?; cat ../../build/covered.txt; exit $$status
	@awk '/^coverage:/ { covered = $$2 } END { if (covered + 0 < 60) { print "expected the runs of the controller to cover 60 %, found " covered; exit 1 } }' build/covered.txt
	cd examples/storage && go vet ./... && go test -count 1 .
	cd examples/store && go vet ./... && go test -count 1 -timeout 30m -simtest.seeds $(EXAMPLE_SEEDS) .
	cd examples/kine && go vet ./... && go test -count 1 -timeout 60m .
	cd examples/certmanager && go vet ./... && go test -count 1 -simtest.seeds $(EXAMPLE_SEEDS) .
	cd examples/snapshots && go vet ./... && go test -count 1 -simtest.seeds $(EXAMPLE_SEEDS) .
	cd examples/provisioner && go vet ./... && go test -count 1 -simtest.seeds $(EXAMPLE_SEEDS) .

.PHONY: controlplane
controlplane: overlay ## run the whole control plane of Kubernetes, also under two operators, with a few seeds (CONTROLPLANE_SEEDS=2); compiling it takes minutes
	cd controlplane && go vet $(SIMFLAGS) . && go test $(SIMFLAGS) -short -count 1 -timeout 30m -simtest.seeds $(CONTROLPLANE_SEEDS) .
	cd examples/jobset && go vet $(SIMFLAGS) . && go test $(SIMFLAGS) -count 1 -timeout 30m -simtest.seeds $(CONTROLPLANE_SEEDS) .
	cd examples/leaderworkerset && go vet $(SIMFLAGS) . && go test $(SIMFLAGS) -count 1 -timeout 30m -simtest.seeds $(CONTROLPLANE_SEEDS) .

.PHONY: reproduce-4
reproduce-4: ## show finding 4, with an overlay of time.Now; reproduce-1, -1-kubernetes, -2, -3, -5 to -70, -29-cache the others; code 1 if the bug shows
	@mkdir -p build/wallclock && $(FINDINGS)/finding-4/overlay.sh $(abspath build/wallclock)
	cd $(FINDINGS) && go build -overlay $(abspath build/wallclock/overlay.json) -tags wallclock -o $(abspath build/finding-4) ./finding-4
	build/finding-4

$(patsubst $(FINDINGS)/kine/finding-%,reproduce-%,$(wildcard $(FINDINGS)/kine/finding-*)): reproduce-%: # a module of their own, as kine needs newer libraries than the others
	cd $(FINDINGS)/kine && go build -o $(abspath build)/finding-$* ./finding-$*
	build/finding-$*

$(patsubst $(FINDINGS)/controllers/finding-%,reproduce-%,$(wildcard $(FINDINGS)/controllers/finding-*)): reproduce-%: # a module of their own, for released controllers
	cd $(FINDINGS)/controllers && go build -o $(abspath build)/finding-$* ./finding-$*
	build/finding-$*

reproduce-%:
	cd $(FINDINGS) && go build -o $(abspath build)/finding-$* ./finding-$*
	build/finding-$*

patch-%: # run the tests of a finding's patch without its fix, when they have to fail, and with it
	docs/findings/patches/check $*

.PHONY: canary
canary: build ## show that a damaged cacher is caught
	go test $(SIMFLAGS) -count 1 -run 'TestCanary' ./simrun

.PHONY: a01
a01: build ## hunt a real bug, k/k 116122, in a cacher without its fix; fails if none is caught
	bin/simrun --mutant A01 --scenario reinit --seeds 1-100; test $$? -eq 1

.PHONY: mutate-oracle
mutate-oracle: ## break each rule of the oracle on purpose; fails if no test turns red
	go run ./linearizability/mutate

.PHONY: tamper
tamper: ## edit histories that pass in all ways, and write docs/oracle-tampering.md; fails if the oracle misses what it must notice
	go test ./linearizability -run 'TestTamperingIsNoticed$$' -count=1 -timeout 1h -tamper-histories 8 -tamper-places 3 -tamper-update

# A hunt continues from its file of results. The first one continues from the results
# that were committed last, which took hours; without that history it begins empty.
out/track-record.jsonl out/shrinking.jsonl out/strategies.jsonl:
	@mkdir -p out
	@git show 54c460c:docs/$(@F) >$@ 2>/dev/null || :

.PHONY: mutants
mutants: out/track-record.jsonl ## hunt every known bug that is put back, and write docs/track-record.md and its picture (TRIALS=5; goes on where it was)
	go run ./search/mutant/hunt --trials $(TRIALS) --time 2m --results out/track-record.jsonl --table docs/track-record.md --curve docs/track-record.svg

.PHONY: mutants-ci
mutants-ci: ## hunt some of them within a budget each; fails if one is lost
	rm -f out/mutants-ci.jsonl
	go run ./search/mutant/hunt --short --results out/mutants-ci.jsonl

.PHONY: controlplane-mutants
controlplane-mutants: ## hunt the known bugs of the control plane, and write docs/control-plane-bugs.md (goes on where it was)
	go run ./search/mutant/hunt --target controlplane --trials 1 --seeds 200 --time 2m --results out/control-plane.jsonl --table docs/control-plane-bugs.md

.PHONY: strategies
strategies: out/strategies.jsonl ## hunt a few known bugs with each strategy of schedules; and in other runs; the tables go to out/strategies*.md (goes on where it was)
	go run ./search/mutant/hunt --compare --in own --only A01,A03-initial,A07,A23,undrained,uncreated,cacher-A19,cacher-D02 \
		--trials 5 --time 40s --results out/strategies.jsonl --table out/strategies.md
	go run ./search/mutant/hunt --in "--scenario minute --faults compaction,reset,partition" --in "--scenario tombstone" --only C01 \
		--trials 20 --time 3m --results out/strategies.jsonl --table out/strategies-C01.md
	go run ./search/mutant/hunt --in "--scenario idle" --in "--scenario silence" --only E02 \
		--trials 20 --time 3m --results out/strategies.jsonl --table out/strategies-E02.md
	go run ./search/mutant/hunt --in "--scenario reinit" --in "--scenario rewatch" --only cacher-shared-stream \
		--trials 20 --time 5m --results out/strategies.jsonl --table out/strategies-shared-stream.md

.PHONY: suites
suites: out/track-record.jsonl ## run the tests of edited packages with each edit, as their authors would; hours, and goes on where it was
	go run ./search/mutant/hunt --suites --results out/track-record.jsonl --table docs/track-record.md

.PHONY: replays
replays: ## record failures of many known bugs, and replay each in a process of its own (REPLAYS=200)
	go run ./search/mutant/hunt --replays $(REPLAYS) --results out/replays.jsonl

.PHONY: shrink-record
shrink-record: out/shrinking.jsonl ## find a failing run of each bug and make it smaller, and write docs/shrinking.md (goes on where it was)
	go run ./search/mutant/hunt --trials 1 --time 1m --results out/shrinking.jsonl; test $$? -le 1
	go run ./search/mutant/hunt --shrink --results out/shrinking.jsonl --table docs/shrinking.md

.PHONY: released
released: ## build the released versions of cluster/released and find in them what docs/released-versions.md says; minutes the first time (LAST=2000 seeds at most)
	go test -count 1 -timeout 60m ./search/selfbuild -build -last $(LAST) -v

.PHONY: campaign-dry-run
campaign-dry-run: build ## run deploy/indexed-job.yaml as four processes and kill one of them (SEEDS=1-2000)
	rm -rf out/dry-run
	go test -v -count 1 -timeout 1h -run TestDryRun ./deploy -simrun $(abspath bin/simrun) -results $(abspath out/dry-run) -seeds $(SEEDS)

# Benchmarks are rounds of processes in turns: what else the machine does meanwhile
# concerns everything that is compared. benchstat takes the medians.
BENCHSTAT := go tool benchstat
ROUNDS    ?= 4
SINCE     ?= 6bd9c49
MEASURE   := -test.run '^$$' -test.bench

.PHONY: bench
bench: bench-simrun bench-price bench-oracle bench-cacher ## measure runs, memory, the price of simulation, the oracle and the watch cache

.PHONY: bench-simrun
bench-simrun: build ## measure seeds, the first run and memory
	go test $(SIMFLAGS) -c -o build/simrun.test ./simrun
	@cd simrun && for range in Seeds/scenario=minute:400 Seeds/scenario=quorum:100 FirstSeed:5 Memory:2000; do \
		../../build/simrun.test $(MEASURE) $${range%:*} -test.benchtime $${range#*:}x || exit 1; done

.PHONY: bench-against
bench-against: build ## compare the processor time of a seed with that of a commit (SINCE=6bd9c49 ROUNDS=4)
	git worktree prune && git worktree add -f --detach build/since $(SINCE)
	$(MAKE) -C build/since build && mv build/since/bin/simrun build/simrun-since; git worktree remove -f build/since
	go test $(SIMFLAGS) -c -o build/simrun.test ./simrun
	@cd simrun && for round in $$(seq $(ROUNDS)); do for range in minute:100 calm:100 pair:50 quorum:25 storm:50; do \
		../../build/simrun.test $(MEASURE) Seeds/scenario=$${range%:*} -test.benchtime $${range#*:}x \
			-simrun since=../../build/simrun-since,now=../../bin/simrun || exit 1; done; done >../../build/bench-against.txt
	$(BENCHSTAT) -col /binary build/bench-against.txt

.PHONY: bench-price
bench-price: overlay ## compare the processor time of the same work in a simulation and outside (ROUNDS=4)
	go test -c -o build/price-stock.test ./cluster/target/cacher
	go test $(SIMFLAGS) -c -o build/price-simulated.test ./cluster/target/cacher
	@rm -f build/stock.txt build/simulated.txt; \
	for round in $$(seq $(ROUNDS)); do for work in Channels Writes; do for kind in stock simulated; do \
		GOMAXPROCS=1 build/price-$$kind.test $(MEASURE) $$work -test.benchtime 1x >>build/$$kind.txt || exit 1; done; done; done
	$(BENCHSTAT) build/stock.txt build/simulated.txt

.PHONY: bench-oracle
bench-oracle: ## measure the oracle on large histories, and porcupine without resourceVersions
	go test -run '^$$' -bench 'LargeHistories|Porcupine' -benchtime 3x -cpu 1 -timeout 30m ./linearizability

.PHONY: bench-cacher
bench-cacher: ## compare the watch cache with Kubernetes' own (ROUNDS=4)
	@mkdir -p build
	go test -c -o build/cacher.test ./cacher
	@cd cacher && for round in $$(seq $(ROUNDS)); do for range in 'Sustained|Burst|Idle|Establish|Latency:1x' 'Kubelets|Objects:1s'; do \
		../build/cacher.test $(MEASURE) "^Benchmark($${range%:*})$$" -test.benchtime $${range#*:} || \
			echo "a benchmark of round $$round failed: build/bench-cacher.txt says why" >&2; done; done >../build/bench-cacher.txt
	$(BENCHSTAT) -col /cache build/bench-cacher.txt

.PHONY: bench-cacher-upstream
bench-cacher-upstream: ## run Kubernetes' own benchmarks of a storage on both caches; minutes
	@mkdir -p build
	go test -run '^$$' -bench ^BenchmarkUpstream -benchtime 0.1s -count $(ROUNDS) -timeout 1h ./cacher >build/bench-cacher-upstream.txt
	$(BENCHSTAT) -col /cache build/bench-cacher-upstream.txt

.PHONY: experiment
experiment: ## measure what 10,000 watches cost etcd, with and without a cache (LOAD="-rate 20")
	@mkdir -p build
	go test -run '^$$' -bench '^BenchmarkWatchesOnEtcd$$' -benchtime 1x -timeout 1h ./cacher $(LOAD) | tee build/experiment.txt
	$(BENCHSTAT) -col /served build/experiment.txt
	go test -run '^TestExperimentPlot$$' ./cacher -plot $(abspath build/experiment.txt)

.PHONY: watch-storm
watch-storm: overlay ## measure how all watches return after an API server's restart (STORM="-work 10ms")
	go test $(SIMFLAGS) -v -count 1 -run '^TestTable$$' -timeout 1h ./simtest -table $(abspath build/watch-storm.txt) $(STORM) | tee build/watch-storm-table.txt
	go test -run '^TestExperimentPlot$$' ./cacher -plot $(abspath build/watch-storm.txt)

.PHONY: clean
clean: ## remove what was built and run
	rm -rf build bin out
