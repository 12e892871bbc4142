# Every target sets up what it needs: `make demo` on a fresh machine needs python3 >= 3.11 with venv, make and git.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
KEEP ?=
CONTROLPLANE ?= $(firstword $(RELEASES))
CLUSTER_KUBECONFIG ?= $(GANGLINE_TEST_KUBECONFIG)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
SOURCES := gangline scheduler controller tests docs
RELEASES := $(shell ls -r tests/controlplane | grep '^v')
GENERATED := manifests/base/crd.yaml docs/settings.md docs/metrics.md docs/reasons.md docs/coscheduling.md docs/cli.md docs/bad-input.md docs/kubectl.md \
	manifests/components/monitoring/dashboard.json
COMPILE := $(BIN)/python -m uv pip compile pyproject.toml --extra sandbox --group build --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --quiet

.PHONY: help demo test test-real tools controlplane nightly lint doors types generate picture verify mutants bench lock clean

help: ## Show this help.
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: .venv/runtime.stamp ## Watch gangs start together on an embedded cluster (KEEP=1 leaves it up to look around).
	$(BIN)/gangline demo $(if $(KEEP),--keep)

test: .venv/dev.stamp ## Run all tests, in two processes.
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-real: $(if $(CLUSTER_KUBECONFIG),.venv/dev.stamp,controlplane) ## Run the end-to-end tests on a real control plane (CONTROLPLANE=v1.35 names another version).
	GANGLINE_TEST_KUBECONFIG=$(CLUSTER_KUBECONFIG) CONTROLPLANE=$(CONTROLPLANE) $(BIN)/python -m pytest \
		tests/real tests/e2e tests/conformance --backend=real --timeout 600 $(if $(CLUSTER_KUBECONFIG),,-n 2 --dist loadfile)

tools: .venv/dev.stamp ## Fetch kubectl and promtool into a cache, once; tests fetch what they miss.
	@$(BIN)/python -m tests.support.tools

controlplane: .venv/dev.stamp ## Build etcd, kube-apiserver and the rest into a cache, once (needs Go).
	@$(BIN)/python -m tests.controlplane.build $(CONTROLPLANE)

nightly: ## Run test-real on every version of Kubernetes that is listed.
	@failed=; for release in $(RELEASES); do $(MAKE) test-real CONTROLPLANE=$$release || failed+=" $$release"; done; \
	if [ "$$failed" ]; then echo "nightly: failed on$$failed" >&2; exit 1; fi

lint: .venv/dev.stamp doors ## Check style, format, doors between rooms, and the lock files.
	$(BIN)/python -m ruff check $(SOURCES)
	$(BIN)/python -m ruff format --check $(SOURCES)
	@if grep -nE '://|^ *-|@' requirements/*.txt | grep -v -- '--hash=sha256:'; then echo 'requirements: names, versions and hashes only, no addresses' >&2; exit 1; fi

doors: .venv/dev.stamp ## Check which room imports which.
	$(BIN)/lint-imports --no-logo

types: .venv/dev.stamp ## Check types, of the tests too.
	$(BIN)/python -m mypy $(SOURCES)

generate: .venv/dev.stamp ## Write the CRD, the manuals of settings, metrics and reasons, and the dashboard.
	$(BIN)/python -m docs.generate

picture: .venv/dev.stamp ## Draw the picture of the README, of a real run.
	$(BIN)/python -m docs.picture

verify: generate ## Fail if a generated file is not what is committed.
	git ls-files --error-unmatch $(GENERATED) >/dev/null
	git diff --exit-code -- $(GENERATED)

mutants: .venv/dev.stamp ## Break the code on purpose; fail if no test notices.
	$(BIN)/python -m tests.mutants.run

bench: .venv/dev.stamp ## Measure; prints figures.
	$(BIN)/python -m tests.bench.bench_placement
	$(BIN)/python -m tests.bench.bench_gangs

lock: .venv/dev.stamp ## Resolve requirements/*.txt anew from pyproject.toml.
	$(COMPILE) --upgrade -o requirements/runtime.txt
	$(COMPILE) --upgrade --group dev -c requirements/runtime.txt -o requirements/dev.txt

clean: ## Remove the virtual environment and all caches.
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=...")'
	$(PYTHON) -m venv .venv

.venv/%.stamp: requirements/%.txt pyproject.toml | .venv/pyvenv.cfg
	$(PIP) install --require-hashes --only-binary :all: -r $<
	$(PIP) install --no-build-isolation --no-deps -e .
	touch $@
