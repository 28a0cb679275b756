# tsdbridge. "make help" lists the targets.
GO ?= go
E2E_TIMEOUT ?= 50m
SOAK_TIME ?= 10m
BENCH ?=

.PHONY: help build run docs web web-check test test-packages test-e2e acceptance test-short race golden fuzz bench bench-go kill-drill soak fmt lint tidy vuln check e2e tools node_modules dist dist-test golden-dist

help:      ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

# -s -w leaves out what only debuggers read, a third of the binary. The binary still reports its
# revision and can be profiled.
# fmahash=qn: on arm64 the compiler joins no multiplication and addition into one; answers have the same bits as on amd64.
BUILD = $(GO) build -trimpath $(if $(filter arm64,$(shell $(GO) env GOARCH)),-gcflags=all=-d=fmahash=qn) -ldflags "-s -w" -o tsdbridge .

build:     ## ./tsdbridge
	@test -e tsdbridge || echo 'Building. The first build compiles all dependencies and takes some minutes.'
	$(BUILD)

run: build ## the adapter on the embedded store in ./data: http://localhost:9201, carbon at localhost:2003, OpenTSDB at localhost:4242
	@exec ./tsdbridge --carbon.listen-address=localhost:2003 --opentsdb.listen-address=localhost:4242

web:       ## build the page from web/app into web/dist, which is committed (Node 20 or later)
	cd web/app && npm ci --no-audit --no-fund && npm run --silent check && npm test --silent && npm run --silent build

docs:      ## the site of the handbook in bin/docs, which the binary serves at /docs/
	$(GO) run ./docs/build bin/docs

web-check: web ## check that web/dist is what web/app makes
	@git diff --exit-code --stat -- web/dist || { echo 'web/dist is not what web/app makes: commit it'; exit 1; }

test: tools node_modules dist-test ## everything, with a real HBase, OpenTSDB and Prometheus (Java 17, Maven, Python 3, Node 20, Chromium)
	$(GO) build ./...
	@$(MAKE) --no-print-directory -j2 test-packages test-e2e

# Two halves at once, one package of each at a time.
test-packages:
	TSDBRIDGE_E2E=1 $(GO) test -p 1 -timeout $(E2E_TIMEOUT) $$($(GO) list ./... | grep -v /storage/hbase$$)
test-e2e:
	cd e2e && TSDBRIDGE_E2E=1 $(GO) test -p 1 -timeout $(E2E_TIMEOUT) ./...
	TSDBRIDGE_E2E=1 $(GO) test -timeout $(E2E_TIMEOUT) ./storage/hbase

acceptance: tools node_modules ## everything at full size: thousands of random queries, long drills, a soak (hours)
	cd e2e && TSDBRIDGE_E2E=1 $(GO) run ./acceptance -out acceptance/RESULTS.md

test-short: ## the tests that need nothing but Go
	$(GO) test -short -timeout 10m ./...

e2e: tools node_modules ## the end-to-end tests alone, with their logs
	cd e2e && TSDBRIDGE_E2E=1 $(GO) test -v -timeout $(E2E_TIMEOUT) ./...
	TSDBRIDGE_E2E=1 $(GO) test -v -timeout $(E2E_TIMEOUT) ./storage/hbase/...

tools:     ## install what the tests need beside Go; it says first what that is
	@.ci/tools java python browser packagers

node_modules:
	@.ci/tools browser
	@test -e web/app/node_modules/axe-core || (cd web/app && npm ci --no-audit --no-fund)

dist:      ## ./dist: archives, deb, rpm, bills of materials and checksums of all systems (minutes)
	cd deploy/dist && $(GO) run . -repository ../.. -out ../../dist

dist-test: ## a release of this machine and the Helm chart, tested
	@.ci/tools packagers
	cd deploy/dist && TSDBRIDGE_E2E=1 $(GO) test -timeout 20m ./...

golden-dist: ## rewrite deploy/kubernetes from the Helm chart
	cd deploy/dist && $(GO) test ./chart -run TestVariants -rewrite

race:      ## the race detector on the tests that need nothing but Go
	$(GO) test -race -short -timeout 20m ./...

golden:    ## rewrite recorded answers and docs/flags.md; review the diff
	$(GO) test $$(grep -rl cockroachdb/datadriven --include='*_test.go' adapter cli graphite internal migrate opentsdb prometheus storage translate tree | xargs -n1 dirname | sort -u | sed 's,^,./,') -rewrite
	$(GO) test . -run Page -rewrite

fuzz:      ## every fuzzer for a minute
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	  echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 60s $$p || exit 1; done; done

bench:     ## the bars, compared with VictoriaMetrics, Prometheus and a TSD (an hour; BENCH="-quick -only rw1,reads": less)
	cd e2e && $(GO) run ./bench -out bench/RESULTS.md $(BENCH)

kill-drill: ## crashes under load, then a check that everything acknowledged is there
	cd e2e && $(GO) run ./bench kill $(BENCH)

soak:      ## everything at once for SOAK_TIME, with restarts, within a limit of memory
	cd e2e && $(GO) run ./bench soak -time $(SOAK_TIME) $(BENCH)

bench-go:  ## the benchmarks of the packages
	$(GO) test -run '^$$' -bench . -benchmem ./prometheus/... ./graphite/... ./storage/... ./translate ./tree/...

LINT = $(GO) tool -modfile=tools/go.mod golangci-lint

fmt:       ## format the source
	$(LINT) fmt ./...
	cd e2e && $(GO) tool -modfile=../tools/go.mod golangci-lint fmt ./...

lint:      ## golangci-lint by .golangci.yml, in the version that tools/go.mod pins
	$(LINT) run ./...
	cd e2e && $(GO) tool -modfile=../tools/go.mod golangci-lint run ./...
	cd deploy/dist && $(GO) tool -modfile=../../tools/go.mod golangci-lint run ./...

tidy:      ## check that go.mod and go.sum fit the source
	$(GO) mod tidy -diff
	cd e2e && $(GO) mod tidy -diff

# The database is https://vuln.go.dev, or what GOVULNDB names.
VULN = golang.org/x/vuln/cmd/govulncheck@v1.9.0
vuln:      ## known vulnerabilities of what is linked, by govulncheck; left out where its database cannot be reached
	@if ! curl -fsSL --max-time 30 -o /dev/null "$${GOVULNDB:-https://vuln.go.dev}/index/db.json" 2>/dev/null; then \
	  echo 'govulncheck is left out: its database (https://vuln.go.dev, or GOVULNDB) cannot be reached'; \
	elif ! $(GO) run $(VULN) -version >/dev/null 2>&1; then \
	  echo 'govulncheck is left out: it cannot be fetched'; \
	else \
	  $(GO) run $(VULN) ./...; \
	fi

check: tidy lint race ## what every change passes
