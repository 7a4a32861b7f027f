# Every target is one script in hack/; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help build up down test verify bench conformance fuzz soak release clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 20

build: ## Install what is missing and compile everything
	@hack/build

up: ## Build and start a local control plane in .multiplane/ (SHARDS=auto: on every core; PROFILE=sharded: all servers apart)
	@hack/up $(if $(SHARDS),--shards=$(SHARDS))

down: ## Stop it; its data stays in .multiplane/
	@hack/down

test: ## Run every test; the last line is `N passed, N failed`
	@hack/test

verify: ## Check format, lint, package arrows, types and unused code
	@hack/verify

bench: ## Measure, and print ratios against a baseline of the same run (5 minutes; everything: hack/bench/run all)
	@hack/bench/run

conformance: ## Play generated scenarios here and on a reference server (ARGS; ARGS=--help)
	@hack/conformance/run $(ARGS)

fuzz: ## Play generated hostile input on a server, longer than the tests do (RUNS=200, SEED=n)
	@hack/fuzz/run

soak: ## Repeat what tests do by chance (kills, random operations) ten times as often (EFFORT=10)
	@hack/soak

release: ## Make packages, archives, chart, manifests and checksums in .cache/release/; uploads nothing
	@hack/release/run

clean: ## Remove everything built or installed (not .multiplane/)
	@rm -rf node_modules packages/*/node_modules e2e/node_modules hack/bench/node_modules packages/*/dist .cache
