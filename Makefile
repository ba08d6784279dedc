# Everything a person types in a fresh clone. Needs Python 3.11 to 3.13, make and git; the rest is
# set up here, from locks with hashes. `make` alone prints this map.
#
# make ends with 2 whenever what it ran did not end with 0. For the exit code itself (0 reproduced,
# 1 not, 2 usage, 3 could not run, 4 cannot be judged) call .venv/bin/reprokit.

VENV   := .venv
RECIPE ?= cartpole_baseline
SEED   ?=
ARGS   ?=
SECONDS ?= 120
TARGETS ?=
ROOM    ?=

# What make test runs at once, and several at a time.
QUICK := not slow and not smoke and not cuda

# The first Python that fits and can make environments. `make PYTHON=…` names another.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3 python; do \
	$$name -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		2>/dev/null && { echo $$name; break; }; done)
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check --no-input
# Byte-code is made when something is first imported, not for everything that no one imports.
LOCKED := --quiet --no-compile --require-hashes --only-binary :all:
# PyTorch's own index has the CPU build of torch. Where it cannot be reached, pip warns and goes on.
TORCH_INDEX := --retries 0 --extra-index-url https://download.pytorch.org/whl/cpu

.DEFAULT_GOAL := help
.PHONY: help setup reproduce verify test smoke test-all test-cuda wording fuzz stress coverage mutate lint docs schemas pictures bench image images-all lock clean

help: ## Print this map
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.tool ## Make .venv with the tool, from requirements.lock

# Runs never fetch: data that recipes declare is brought into the cache before. Where it cannot be, the
# verdict of the recipes that read it is NOT_RUN, and the others are judged.
reproduce: setup ## Train twice, compare, judge: make reproduce RECIPE=cartpole_baseline [SEED=42]
	@$(VENV)/bin/reprokit data fetch --allow-none $(RECIPE) >&2 || :
	@$(VENV)/bin/reprokit reproduce $(RECIPE) $(if $(SEED),--seed $(SEED)) $(ARGS)

verify: setup ## Reproduce every recipe of this platform and compare it with golden/
	@$(VENV)/bin/reprokit data fetch --allow-none >&2 || :
	@$(VENV)/bin/reprokit verify --golden golden/ $(ARGS)

# In the order of paths: containers (tests/integration) first, short files (tests/unit) last, so that no
# worker is left with a long file when the others are done.
test: $(VENV)/.dev ## Run the tests, without those that take long: make test [ROOM=diagnose]
ifneq ($(ROOM),)
	@paths=$$($(VENV)/bin/python tests/rooms.py $(ROOM)) || exit 2; \
	$(VENV)/bin/python -m pytest -q -m "$(QUICK)" --numprocesses auto --maxprocesses 4 --dist worksteal $$paths $(ARGS)
else
	@$(VENV)/bin/reprokit data fetch --allow-none >&2 || :
	$(VENV)/bin/python -m pytest -m "$(QUICK)" --numprocesses auto --maxprocesses 4 --dist loadfile \
		--no-loadscope-reorder --durations 25 --durations-min 10 $(ARGS)
endif

# One after the other: each starts a cluster, a compiler or another environment, and wants the machine for itself.
smoke: $(VENV)/.dev ## Run one test of each further engine, extra and compiler
	@$(VENV)/bin/reprokit data fetch --allow-none >&2 || :
	$(VENV)/bin/python -m pytest -m "smoke and not slow and not cuda" --durations 0 --durations-min 10 $(ARGS)

test-all: $(VENV)/.dev ## Run all tests
	@$(VENV)/bin/reprokit data fetch --allow-none >&2 || :
	$(VENV)/bin/python -m pytest $(ARGS)

test-cuda: $(VENV)/.dev ## On a machine with an NVIDIA GPU: its tests, its goldens, its tables
	$(VENV)/bin/python tests/cuda/run_all.py $(ARGS)

# Not tests/unit/core, whose files hold what moves fingerprints and is changed on purpose, one by one.
wording: $(VENV)/.dev ## Write the reviewed files of sentences again, for review with git diff
	$(VENV)/bin/python -m pytest -q --regen-all \
		$$(grep -rl --include='test_*.py' file_regression tests/unit | grep -v /core/) $(ARGS)
	@git status --short -- tests

fuzz: $(VENV)/.dev ## Fuzz every parser: make fuzz [SECONDS=120, for each] [TARGETS="csv jsonl"]
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz --seconds $(SECONDS) $(TARGETS)

stress: $(VENV)/.dev ## Kill, stop, fill the disk, turn the clock: make stress [ARGS="kill-tool --rounds 50"]
	$(VENV)/bin/python tests/stress/kill_and_fill.py $(ARGS)

coverage: $(VENV)/.dev ## Prove that tests run every branch of reprokit/core, and of the statistics over seeds
	$(VENV)/bin/coverage run --branch --source=reprokit.core,reprokit.features.sweeps.statistics -m pytest -q \
		tests/unit/core tests/unit/adapters tests/unit/checks tests/unit/features/sweeps/statistics $(ARGS)
	$(VENV)/bin/coverage report --show-missing --skip-covered --fail-under=100

mutate: $(VENV)/.dev ## Plant small faults in core/ and checks/: make mutate ARGS="--minutes 30"
	$(VENV)/bin/python tests/mutation/mutate.py $(ARGS)

lint: $(VENV)/.dev ## Style, formatting, types, import contracts, the picture of the package: what CI runs
	$(VENV)/bin/python benchmarks/architecture.py --check
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(VENV)/.docs ## Build the documentation as a site under build/site
	$(VENV)/docs/bin/python -m mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml

schemas: $(VENV)/.dev ## Write the JSON Schemas of all files and answers again, from the records
	$(VENV)/bin/python benchmarks/schemas.py

pictures: $(VENV)/.dev ## Draw the pictures of the documentation again (needs Chromium)
	$(VENV)/bin/python benchmarks/pictures.py

bench: $(VENV)/.dev ## Measure: speed of training, of comparing, of start-up
	$(VENV)/bin/python benchmarks/run.py $(ARGS)

image: setup ## Build the container image of the cpu environment
	@$(VENV)/bin/reprokit image build cpu $(ARGS)

images-all: setup ## Build the images of all variants: tens of gigabytes, and long
	@for variant in cpu cuda tpu; do $(VENV)/bin/reprokit image build $$variant || exit $$?; done

lock: $(VENV)/.dev ## Solve all locks again, keeping the versions that still fit
	$(VENV)/bin/reprokit image lock
	$(VENV)/bin/python .ci/solve-locks

clean: ## Remove what the targets above made, but no run, report or golden
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf *.egg-info .coverage
	find reprokit tests recipes benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { \
		echo "make: needs Python 3.11, 3.12 or 3.13 with its venv module" >&2; \
		echo "  Debian, Ubuntu: sudo apt-get install python3 python3-venv" >&2; \
		echo "  or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.tool: requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo "Setting up $(VENV): packages of requirements.lock (a minute or two, once)"
	$(PIP) install $(LOCKED) --requirement requirements.lock
	@: compat: a plain path in place of an import hook, which costs every command 15 ms
	$(PIP) install -qq --no-deps --no-build-isolation --no-index --config-settings editable_mode=compat --editable .
	@touch $@

# An environment of its own: what builds the site is none of the tool's packages.
$(VENV)/.docs: docs/site/requirements.lock $(VENV)/.tool
	$(VENV)/bin/python -m venv $(VENV)/docs
	$(VENV)/docs/bin/python -m pip --disable-pip-version-check install $(LOCKED) --requirement docs/site/requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.tool
	@echo "Setting up $(VENV): packages of requirements-dev.lock (a minute or two, once)"
	$(PIP) install $(LOCKED) $(TORCH_INDEX) --requirement requirements-dev.lock
	@touch $@
