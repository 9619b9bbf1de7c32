# The two commands that matter after a clone:
#   go run ./cmd/hanse demo     the main job
#   make test                   the tests

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME = 20s

.PHONY: build test test-long bench chaos lint fuzz demo

build:
	go build -trimpath -ldflags "-s -w" -o dist/hanse ./cmd/hanse
	go build -trimpath -ldflags "-s -w" -o dist/hanselab ./cmd/hanselab

# The second line is what the race detector would make too slow.
test:
	go test -race -timeout 30m ./...
	go test -timeout 10m -run '^TestLarge' ./audit

# test-long adds the tests that take long: real data sets, and every way to kill a federation.
test-long:
	go test -race -tags long -timeout 60m ./...

# bench measures; nothing depends on its figures. docs/performance.md says what they were.
bench:
	go test -run '^$$' -bench . -benchtime 1s ./...
	go run ./cmd/hanselab link
	go run ./cmd/hanselab fdskl --data ../shared/data --svm
	go run ./cmd/hanselab record --data ../shared/data
	go run ./cmd/hanselab audit --data ../shared/data
	go run ./cmd/hanselab sum --clients 100,300,1000 --dropout 0.1 --backend plain,masked

# chaos breaks federations of real processes, one fault at a time. docs/reliability.md says what came of it.
chaos:
	go run ./cmd/hanselab chaos --trials 20

lint:
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

# fuzz runs every fuzz target for FUZZTIME.
fuzz:
	@for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; \
			go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
		done; \
	done

demo:
	go run ./cmd/hanse demo
