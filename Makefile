# Two commands do everything on a machine with Python >= 3.11 and make:  make demo  ·  make test
SHELL      := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# some machines switch bytecode off; compiled bytecode halves every start, so our own runs use it
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-fast test-all test-old test-extras fuzz soak check bench bench-compare docs lock fmt clean venv rig rig-up rig-down image sbom chart wheel dist

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## the project's own virtual environment in .venv (nothing global is touched)

$(STAMP): requirements/dev.txt pyproject.toml simulators/pyproject.toml src/vestibule/__init__.py
	@scripts/install "$(PYTHON)" "$(VENV)"
	@touch $@

demo: $(STAMP) ## pods pass the real HTTPS webhook on an embedded cluster; what was injected and why
	@$(BIN)/python scripts/demo.py

test: check ## all checks and all tests, with what they need
	@scripts/test

test-fast: $(STAMP) ## what needs neither a control plane nor the network, without slow tests; two minutes on two cores
	@scripts/test -m "not rig and not slow"

test-all: check ## the same with more of everything: rapid changes, fuzzing, a soak, the oldest version; about an hour
	@VESTIBULE_ALL=1 scripts/test
	@$(BIN)/python -m tests.fuzz.run --seconds 300
	@$(BIN)/python -m tests.soak.run --admissions 100000 --minutes 10
	@$(MAKE) test-old
	@$(MAKE) test-extras

test-extras: $(STAMP) ## the wheels in clean virtual environments, one per extra
	@scripts/test-extras

test-old: $(STAMP) ## the tests on the API server, on the oldest version we support
	@VESTIBULE_RIG_VERSION=old scripts/test tests/apiserver

SECONDS ?= 600
SEED    ?= 0
TARGETS ?=
fuzz: $(STAMP) ## any bytes against parsers and decisions: SECONDS=600 SEED=0 (fresh) TARGETS="http review"
	@$(BIN)/python -m tests.fuzz.run --seconds "$(SECONDS)" --seed "$(SEED)" $(TARGETS)

rig: $(STAMP) ## build the control plane and Helm, which the tests use (once; cached outside the work tree)
	@$(BIN)/python -m tests.rig.build --all

rig-up: $(STAMP) ## leave a control plane running to try things on
	@scripts/rig up

rig-down: $(STAMP) ## end it
	@scripts/rig down

check: $(STAMP) ## format, lint, types, import contracts, dependencies, architecture
	@scripts/check

fmt: $(STAMP) ## rewrite the code in the agreed format
	@$(BIN)/ruff check --fix -q . || true
	@$(BIN)/ruff format -q .

bench: $(STAMP) ## the figures of the README, as a table and as bench/results/latest.json
	@$(BIN)/python -m bench.run

bench-compare: $(STAMP) ## what a decision costs, compared with a commit: BASE=<commit>; fails on a loss of more than 5 %
	@[ -n "$(BASE)" ] || { echo "BASE is empty, want a commit: make bench-compare BASE=HEAD~1" >&2; exit 2; }
	@$(BIN)/python -m bench.compare "$(BASE)"

docs: $(STAMP) ## the documentation site in site/
	@scripts/docs

image: $(STAMP) ## the container image in dist/, as an OCI layout, without a container engine
	@scripts/image && scripts/sums

soak: $(STAMP) ## admissions through the real API server while everything around the webhook fails; SOAK="--admissions N --state FILE"
	@$(BIN)/python -m tests.soak.run $(SOAK)

sbom: $(STAMP) ## what the image holds, in dist/, as CycloneDX
	@scripts/sbom && scripts/sums

chart: $(STAMP) ## the Helm chart in dist/, its generated parts made anew
	@scripts/chart --package dist && scripts/sums

wheel: $(STAMP) ## the wheels of vestibule and vestibule-simulators, in dist
	@$(BIN)/uv build -q --wheel -o dist . && $(BIN)/uv build -q --wheel -o dist simulators && ls dist/*.whl

dist: image sbom chart wheel ## image, bill of materials and chart with their hashes; wheels

lock: ## make requirements/*.txt anew from requirements/*.in
	@scripts/lock "$(PYTHON)"

clean: ## remove what make made
	@rm -rf $(VENV) site build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis bench/results/latest.json
	@find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +
