# The two commands that matter after a clone:
#   go run ./cmd/hanse demo     the main job
#   make test                   the tests

FUZZTIME = 20s

.PHONY: build release reproduce test test-lab test-long test-share test-plain test-times night systems bench chaos lint fuzz demo

# What a build is made of: docs/install.md says who can come to the same bytes. VERSION and COMMIT are for a source
# archive, whose history is elsewhere. The lab is a module of its own: $(call BUILD,-C lab) builds in it.
PLATFORMS = linux/amd64 linux/arm64
VERSION = $(shell git describe --tags --exact-match 2>/dev/null)
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)$(if $(shell git status --porcelain 2>/dev/null),+)
STAMP = github.com/hanse-project/hanse/internal/build
# What no user meets is left out: pages of documentation, testify's YAML, and HTTP/2, which Go speaks over TLS alone:
# the program's own HTTP goes over sockets and plain TCP. .ci/faults reads this line.
TAGS = urfave_cli_no_docs,testify_yaml_fail,nethttpomithttp2
BUILD = CGO_ENABLED=0 GOFLAGS= go $(1) build -trimpath -buildvcs=false -tags $(TAGS) \
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

# test runs every package once. .ci/test says how, and docs/testing.md how long it takes.
test:
	.ci/test

# test-lab tests the lab, a module of its own, which measures what the product's packages are tested for.
test-lab:
	go -C lab test -timeout 20m ./...

# test-share runs today's unit of the long tests, test-long all of them.
test-share:
	.ci/share

test-long:
	.ci/share all

# night runs everything there is, for who releases: .ci/night says what, and how to run a part of it.
night:
	.ci/night

# systems builds the program for SYSTEMS, on which no tests run.
SYSTEMS = darwin/arm64 windows/amd64
systems:
	@set -e; for p in $(SYSTEMS); do \
		echo $$p; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -o dist/$$(echo $$p | tr / -) ./cmd/hanse; \
		rm dist/$$(echo $$p | tr / -); \
	done

# test-plain tests what has vector instructions without them, as on other processors.
test-plain:
	GODEBUG=cpu.avx2=off go test ./secagg ./secagg/ring ./secagg/rss ./algorithms/kernel

# test-times runs make test and says how many seconds of the processor each package took: user, system, by the clock.
test-times:
	.ci/test --times
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
	.ci/lint

# fuzz runs every fuzz target for FUZZTIME.
fuzz:
	FUZZTIME=$(FUZZTIME) .ci/night fuzz

demo:
	go run ./cmd/hanse demo
