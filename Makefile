# The two commands of the README. Each makes its own environment in .venv and needs only Python, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What `make quick` tests: the language, Gaussian calculus, descriptions, figures, the direction of imports, and the steps
# and random numbers of the simulations. Half of all tests; it leaves out what compiles much or starts processes.
QUICK := tests/targets tests/gaussian tests/experiments tests/learners tests/figures tests/simulation/test_steps.py \
	tests/simulation/test_random.py tests/test_import_direction.py tests/test_files.py tests/test_supply.py
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test quick check bench audit lock clean

# The main job, once, on the README's example: prints the explanation and writes it as a page with pictures.
demo: $(VENV)/.installed
	$(BIN)/featlab explain "He4(h1) + sign(h1*h2*h3)" --dim 1000 --html explanation.html

# Lint, format, types and every test. Two processes, each with one thread for linear algebra: more would fight over cores.
test: $(VENV)/.installed-dev check
	$(PYTEST)

# For every save: about a minute on two cores.
quick: $(VENV)/.installed-dev check
	$(PYTEST) --quiet --ignore tests/targets/test_fuzz.py $(QUICK)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# Known weaknesses: of the code (bandit, with the exceptions that pyproject.toml justifies), and of what is installed
# (pip-audit, which asks a database on the web).
audit: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --constraint requirements-dev.lock --editable ".[audit]"
	$(BIN)/bandit --quiet --recursive src --configfile pyproject.toml
	$(BIN)/pip-audit --skip-editable

# The versions that development was last done with, found anew: what pip would install into an empty environment.
lock: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report $(VENV)/lock.json --editable ".[dev,audit]"
	$(BIN)/python -m benchmarks.lock $(VENV)/lock.json > requirements-dev.lock

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis explanation.html
