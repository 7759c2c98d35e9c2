# Two commands do all the set-up on a fresh machine: `make reproduce` and `make test`.
# Options go through: make reproduce REPRODUCE=--all, make bench BENCH=--json, make shop SHOP='--seconds 20'
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
PAGE ?= verification.md
TESTS ?= tests/core tests/mechanisms/test_curator.py tests/reporting
PIP := PIP_CONSTRAINT=constraints.txt $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile
# One worker more than there are processors: many studies wait for disks and for servers that were killed.
WORKERS = $(shell $(RUN) -c 'import os; print(os.cpu_count() + 1)')

# What Python has compiled is kept: else every worker, and every program that a test starts, compiles it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help reproduce results test quick test-system prove verify supply-chain shop lint docs pictures build bench soak pin clean
.NOTPARALLEL: # two pips at a time would break the environment

help:
	@echo "make reproduce  the paper's evaluation: figures, tables and a report in reproduction/"
	@echo "                REPRODUCE=--all adds every policy and stopping rule; REPRODUCE=--quick takes few runs"
	@echo "make results    all of it, and then docs/results.md and the picture docs/regret.png anew"
	@echo "make test       run the tests, doctests included"
	@echo "make quick      a part of the tests, in seconds: TESTS=tests/bandits"
	@echo "make test-system  tests that need PostgreSQL, Chromium, Node, Ray or Dask, or kill processes"
	@echo "make prove      have Coq check the proofs of privacy, compare their formulas with the code's, and break them"
	@echo "make shop       a service with an experiment in it: four banners and an hour of shoppers, in a minute"
	@echo "make verify     audits, planted bugs, faults, fuzzing, slow studies: one page at the end, also in verification.md"
	@echo "make supply-chain  pip check, known vulnerabilities, and tests on the oldest and newest versions of what we need"
	@echo "make lint       ruff, mypy --strict and import-linter"
	@echo "make docs       the site in build/docs/site, docs/algorithms.md and the notebooks in examples/"
	@echo "make pictures   the pictures of the README anew: regret over time, and the dashboard in a browser"
	@echo "make build      a source distribution and a wheel in dist/, tried in an empty environment; BUILD=--extras: each extra"
	@echo "make bench      measure what must be fast: a table, also in benchmarks.md"
	@echo "make soak       the service under mixed traffic for half an hour: SOAK='--postgresql --workers 2'"
	@echo "make pin        refresh the pinned versions in constraints.txt"

$(RUN):
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "discreet needs Python 3.11 or newer"'
	$(PYTHON) -m venv $(VENV)

# $(VENV)/.test stands for the installed extra `test`, and so for every extra.
$(VENV)/.%: pyproject.toml constraints.txt | $(RUN)
	$(PIP) -e '.[$*]'
	-$(RUN) -m compileall -q -j 0 $(VENV)/lib > /dev/null # on all processors, where pip would take one
	touch $@

# Kernels, compiled once so that no worker waits for another; an installed extra must come first.
$(VENV)/.kernel-of-the-paper:
	$(RUN) -m discreet.lab.kernels dp-ucb
	touch $@

$(VENV)/.kernels:
	$(RUN) -m discreet.lab.kernels
	touch $@

reproduce: $(VENV)/.reproduce $(VENV)/.kernel-of-the-paper $(if $(findstring --all,$(REPRODUCE)),$(VENV)/.kernels)
	$(RUN) -m discreet reproduce --output reproduction $(REPRODUCE)

results:
	$(MAKE) reproduce REPRODUCE=--all
	cp reproduction/results.md docs/results.md
	cp reproduction/figures/all-settings.png docs/regret.png

# Tests that would only be left out again: schemathesis makes requests when they are collected.
WITHOUT_SYSTEM = --ignore=tests/system --ignore=tests/service/test_openapi.py -p no:schemathesis

test: $(VENV)/.test $(VENV)/.kernels
	$(RUN) -m pytest -n auto --dist worksteal -m 'not study and not system' $(WITHOUT_SYSTEM)

quick: $(VENV)/.test
	$(RUN) -m pytest -n auto -m 'not study and not system' -p no:schemathesis $(TESTS)

test-system: $(VENV)/.system $(VENV)/.kernels
	$(RUN) -m pytest -n auto --dist worksteal -m 'system and not study'

prove: $(VENV)/.test
	$(RUN) -m tools.prove

verify: $(VENV)/.system $(VENV)/.kernels
	$(RUN) -m pytest -n $(WORKERS) --dist worksteal -m 'study or shown' -rfE --page=$(PAGE)

supply-chain: $(VENV)/.system
	$(RUN) -m pytest -m study -rfEs tests/system/test_supply_chain.py --page=$(VENV)/supply-chain.md

shop: $(VENV)/.service
	$(RUN) examples/shop.py $(SHOP)

lint: $(VENV)/.test $(VENV)/.lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(VENV)/.docs
	$(RUN) -m tools.generate_docs
	$(RUN) -m tools.site.tutorials
	$(RUN) -m tools.site $(DOCS)

pictures: $(VENV)/.system
	$(RUN) -m tools.pictures

build: $(VENV)/.docs $(VENV)/.release
	$(RUN) -m tools.release $(BUILD)

bench: $(VENV)/.test $(VENV)/.bench $(VENV)/.kernels
	$(RUN) -m benchmarks $(BENCH)

soak: $(VENV)/.test $(VENV)/.bench
	$(RUN) -m benchmarks.soak $(SOAK)

pin:
	rm -rf $(VENV)/pin && $(PYTHON) -m venv $(VENV)/pin
	$(VENV)/pin/bin/python -m pip install --quiet -e '.[system,lint,bench,docs,release]' 'setuptools>=77'
	$(VENV)/pin/bin/python -m pip freeze --all --exclude-editable --exclude pip > constraints.txt
	rm -rf $(VENV)/pin

clean:
	rm -rf $(VENV) reproduction verification.md dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
