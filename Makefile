# make run    sets everything up in .venv and opens Nodwyn here   (ARGS="--tour", ARGS=path/to/project)
# make test   sets everything up and runs the tests
# make bench  measures speed, as ratios in one run; nothing else should run meanwhile
# make check  style, types, layers, coverage of the last `make test`, the wheel in a clean environment

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
TESTS  ?=
ENGINE := nodwyn_tui/window/*,nodwyn_tui/domain/*

export PYTHON

.PHONY: help run test bench check format lint types layers coverage wheel clean

help:
	@sed -n 's/^# //p' Makefile

run: $(VENV)/.runs
	@$(BIN)/python -P -m nodwyn_tui $(ARGS)

test: $(VENV)/.tests
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report= $(TESTS)

bench: $(VENV)/.tests
	@for script in tests/bench/bench_*.py; do $(BIN)/python $$script || exit 1; done

check: lint types layers coverage wheel

format: $(VENV)/.tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(VENV)/.tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.tests
	$(BIN)/mypy

layers: $(VENV)/.tests
	$(BIN)/lint-imports

coverage: .coverage
	$(BIN)/coverage report --fail-under=90
	$(BIN)/coverage report --fail-under=98 --include='$(ENGINE)'

.coverage:
	@$(MAKE) test

wheel: $(VENV)/.tests
	@rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	@tools/smoke dist/*.whl

clean:
	rm -rf $(VENV) dist .coverage .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# The stamps make a second run start at once; a change of what is needed sets up again.
# What can run the tests can run the program.
$(VENV)/.runs: pyproject.toml constraints.txt
	@tools/set-up $(VENV) -e .
	@touch $@

$(VENV)/.tests: pyproject.toml constraints.txt
	@tools/set-up $(VENV) -e '.[dev]'
	@touch $(VENV)/.runs $@
