# The two commands that matter after a clone:
#   go run ./cmd/hanse demo     the main job
#   make test                   the tests

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME = 20s

.PHONY: build release reproduce test test-lab test-long test-share test-plain test-times bench chaos lint fuzz demo

# What a build is made of: docs/install.md says who can come to the same bytes. VERSION and COMMIT are for a source
# archive, whose history is elsewhere. The lab is a module of its own: $(call BUILD,-C lab) builds in it.
PLATFORMS = linux/amd64 linux/arm64
VERSION = $(shell git describe --tags --exact-match 2>/dev/null)
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)$(if $(shell git status --porcelain 2>/dev/null),+)
STAMP = github.com/hanse-project/hanse/internal/build
BUILD = CGO_ENABLED=0 GOFLAGS= go $(1) build -trimpath -buildvcs=false -tags urfave_cli_no_docs,testify_yaml_fail \
	-ldflags '-s -w -buildid= -X $(STAMP).release=$(VERSION) -X $(STAMP).commit=$(COMMIT)'

build:
	$(BUILD) -o dist/hanse ./cmd/hanse
	$(call BUILD,-C lab) -o ../dist/hanselab ./cmd/hanselab

# release puts a static program for each of PLATFORMS into dist/release, with the modules that it was built of
# (*.modules) and the checksums of all.
release:
	@rm -rf dist/release && mkdir -p dist/release
	@set -e; for p in $(PLATFORMS); do \
		name=hanse-$(or $(VERSION),devel)-$$(echo $$p | tr / -); echo $$name; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(BUILD) -o dist/release/$$name ./cmd/hanse; \
		(cd dist/release && go version -m $$name > $$name.modules); \
	done
	cd dist/release && sha256sum hanse-* > SHA256SUMS

# reproduce builds the last commit in two folders, each from nothing but the downloaded modules, and compares the bytes.
reproduce:
	.ci/reproduce "$(firstword $(PLATFORMS))"

# RACE compiles for the race detector, but for arithmetic that starts no goroutine: docs/testing.md says why it may.
RACE = -race \
	-gcflags='github.com/tuneinsight/lattigo/v5/...=-race=false' \
	-gcflags='gonum.org/v1/gonum/...=-race=false' \
	-gcflags='golang.org/x/crypto/...=-race=false' \
	-gcflags='crypto/internal/fips140/...=-race=false' \
	-gcflags='math/big=-race=false'

# A program compiled for the race detector waits a second at its end for goroutines that are still running.
export GORACE = atexit_sleep_ms=0

# PLAIN are packages of measurements and of walks through whole programs: the packages that they are made of are tested
# under the race detector by themselves, and these again by test-long.
PLAIN = internal/golden|examples

# WALKS are tests of cmd/hanse of the same kind: a tour, a demo, and processes that are killed.
WALKS = ^Test(SIGKILL|SIGSTOP|TourOfTheReadme|WalkOfShards|DemoOfClasses)

# The last lines are what the race detector would make too slow, or too large.
test:
	go test $(RACE) -skip '$(WALKS)' -timeout 45m $$(go list ./... | grep -vE '/($(PLAIN))(/|$$)')
	go test -timeout 20m $$(go list ./... | grep -E '/($(PLAIN))(/|$$)')
	go test -timeout 20m -run '$(WALKS)' ./cmd/hanse
	go test -timeout 10m -run '^TestLarge' ./audit ./internal/node
	go test -run '^TestMemory' ./internal/parts

# test-lab tests the lab, a module of its own, which measures what the packages above are tested for.
test-lab:
	go -C lab test -timeout 20m ./...

# test-long adds the tests that take long: real data sets, and every way to kill a federation.
test-long:
	go test $(RACE) -tags long -timeout 60m ./...

# test-share runs a few of the long tests, others every day.
test-share:
	.ci/share

# test-plain tests what has vector instructions without them, as on other processors.
test-plain:
	GODEBUG=cpu.avx2=off go test ./secagg ./secagg/ring ./secagg/rss ./algorithms/kernel

# test-times runs make test's packages and says how many seconds of the processor each took: user, system, by the clock.
test-times:
	@mkdir -p dist && rm -f dist/times
	TIMES=$(CURDIR)/dist/times go test $(RACE) -count=1 -timeout 30m -exec $(CURDIR)/.ci/timed ./...
	@sort -k2 -n -r dist/times

# bench measures; nothing depends on its figures. docs/performance.md says what they were.
bench:
	go test -run '^$$' -bench . -benchtime 1s ./...
	go -C lab test -run '^$$' -bench . -benchtime 1s ./...
	go -C lab run ./cmd/hanselab align --rows 50000
	go -C lab run ./cmd/hanselab forecast
	go -C lab run ./cmd/hanselab link
	go -C lab run ./cmd/hanselab fdskl --svm
	go -C lab run ./cmd/hanselab record
	go -C lab run ./cmd/hanselab audit
	go -C lab run ./cmd/hanselab sum --clients 100,300,1000 --dropout 0.1 --backend plain,masked

# chaos breaks federations of real processes, one fault at a time. docs/reliability.md says what came of it.
chaos:
	go -C lab run ./cmd/hanselab chaos --trials 20

lint:
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go -C lab vet ./...
	go vet -race -tags long ./...
	go -C lab vet -race -tags long ./...
	go run $(STATICCHECK) ./...
	cd lab && go run $(STATICCHECK) ./...

# fuzz runs every fuzz target for FUZZTIME.
fuzz:
	@for at in . lab; do for pkg in $$(go -C $$at list ./...); do \
		for f in $$(go -C $$at test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; \
			go -C $$at test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
		done; \
	done; done

demo:
	go run ./cmd/hanse demo
