# Everything that simulates is built with the toolchain overlay: edited copies
# of the installed Go's own files, made by `make overlay` in build/.

OVERLAY  := build/overlay/overlay.json
SIMFLAGS := -tags watchsim -overlay $(abspath $(OVERLAY))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: overlay
overlay: ## make the toolchain overlay
	@go run ./sim/overlay/write build/overlay >/dev/null

.PHONY: build
build: overlay ## build bin/simrun
	go build $(SIMFLAGS) -o bin/simrun ./cmd/simrun

.PHONY: test
test: overlay ## run all tests
	go test $(SIMFLAGS) ./...
