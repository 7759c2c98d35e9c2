# Two commands do all the set-up on a fresh machine: `make reproduce` and `make test`.
# Options go through: make reproduce REPRODUCE=--quick, make bench BENCH=--json, make shop SHOP='--seconds 20'
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed

PAGE ?= verification.md
# One worker more than there are processors: many studies wait for disks and for servers that were killed.
STUDENTS = $(shell $(RUN) -c 'import os; print(os.cpu_count() + 1)')

.PHONY: help test reproduce shop verify supply-chain lint bench pin clean
help:
	@echo "make reproduce  the paper's whole evaluation and more: figures, tables and a report in reproduction/"
	@echo "make test       run the tests, doctests included"
	@echo "make shop       a service with an experiment in it: four banners and an hour of shoppers, in a minute"
	@echo "make verify     audits, planted bugs, faults, fuzzing, slow studies: one page at the end, also in verification.md"
	@echo "make supply-chain  pip check, known vulnerabilities, and tests on the oldest and newest versions of what we need"
	@echo "make lint       ruff and mypy --strict"
	@echo "make bench      measure what must be fast"
	@echo "make pin        refresh the pinned versions in constraints.txt"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "discreet needs Python 3.11 or newer"'
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(RUN) -m pip install --quiet --disable-pip-version-check -e '.[lab,test,lint]'
	$(RUN) -m discreet.lab.kernels
	touch $@

test: $(STAMP)
	$(RUN) -m pytest -n auto --dist worksteal -m 'not study'

verify: $(STAMP)
	$(RUN) -m pytest -n $(STUDENTS) --dist worksteal -m 'study or shown' -rfE --page=$(PAGE)

supply-chain: $(STAMP)
	$(RUN) -m pytest -m study -rfEs tests/system/test_supply_chain.py --page=$(VENV)/supply-chain.md

reproduce: $(STAMP)
	$(RUN) -m discreet reproduce --output reproduction $(REPRODUCE)

shop: $(STAMP)
	$(RUN) examples/shop.py $(SHOP)

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/.peers: $(STAMP)
	PIP_CONSTRAINT=constraints.txt $(RUN) -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

bench: $(VENV)/.peers
	$(RUN) -m benchmarks $(BENCH)

pin:
	rm -rf $(VENV)/pin && $(PYTHON) -m venv $(VENV)/pin
	$(VENV)/pin/bin/python -m pip install --quiet -e '.[test,lint,bench]' 'setuptools>=77'
	$(VENV)/pin/bin/python -m pip freeze --all --exclude-editable --exclude pip > constraints.txt
	rm -rf $(VENV)/pin

clean:
	rm -rf $(VENV) reproduction verification.md .pytest_cache .mypy_cache .ruff_cache .hypothesis build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
