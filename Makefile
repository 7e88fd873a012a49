# The two commands of the README. Each makes its own environment in .venv and needs only Python, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What `make quick` tests: the language, Gaussian calculus, descriptions, figures, the direction of imports, and the steps
# and random numbers of the simulations. Half of all tests; it leaves out what compiles much or starts processes.
QUICK := tests/targets tests/gaussian tests/experiments tests/learners tests/figures tests/simulation/test_steps.py \
	tests/simulation/test_random.py tests/test_import_direction.py tests/test_files.py tests/test_supply.py
PIPFLAGS ?= # more for the environment of `make test`
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal

.PHONY: demo test every quick check docs course build oldest bench audit lock clean

# The main job, once, on the README's example: prints the explanation and writes it as a page with pictures.
demo: $(VENV)/.installed
	$(BIN)/featlab explain "He4(h1) + sign(h1*h2*h3)" --dim 1000 --html explanation.html

# Lint, format, types and every test, side by side: either fails the whole. Three processes of tests for two cores, as
# tests of servers, of browsers and of Slurm wait; each with one thread for linear algebra: more would fight over cores.
test: $(VENV)/.installed-dev
	$(MAKE) --no-print-directory --jobs 2 every check

every: $(VENV)/.installed-dev
	$(PYTEST)

# For every save: about a minute on two cores.
quick: $(VENV)/.installed-dev check
	$(PYTEST) --quiet --ignore tests/targets/test_fuzz.py $(QUICK)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, into site/: offline, strict (a broken link, anchor or reference fails), and it fetches nothing from outside.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python -m docs.check_site site

# The chapters of the course executed anew, in minutes, into docs/course/built, which is kept with the sources.
course: $(VENV)/.installed-docs
	$(BIN)/python -m docs.course_build

# Wheel and sdist into dist/, their contents and sizes checked, the wheel installed alone and put to work: on one Python,
# or on all of PYTHONS="python3.11 python3.12 python3.13".
PYTHONS ?= $(PYTHON)
build: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m benchmarks.release dist $(PYTHONS)

# The quick tests on the oldest versions that pyproject.toml allows. Old packages warn of new ones: no fault of ours.
oldest: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.oldest > $(VENV)/oldest.txt
	$(PYTHON) -m venv $(VENV)/oldest
	$(VENV)/oldest/bin/python -m pip install --quiet --constraint $(VENV)/oldest.txt --editable ".[dev]"
	OMP_NUM_THREADS=1 $(VENV)/oldest/bin/python -m pytest -n 2 --dist worksteal --quiet -W ignore::DeprecationWarning \
		--ignore tests/targets/test_fuzz.py --ignore tests/test_supply.py $(filter-out tests/test_supply.py,$(QUICK))

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# Known weaknesses: of the code (bandit, with the exceptions that pyproject.toml justifies), and of what is installed
# (pip-audit, which asks a database on the web). What was not checked is said, and is not passed as checked.
audit: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --constraint requirements-dev.lock --editable ".[audit]"
	$(BIN)/python -m benchmarks.audit

# The versions that development was last done with, found anew: what pip would install into an empty environment.
lock: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report $(VENV)/lock.json --editable ".[dev,audit]"
	$(BIN)/python -m benchmarks.lock $(VENV)/lock.json > $(VENV)/requirements-dev.lock
	mv $(VENV)/requirements-dev.lock requirements-dev.lock

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet $(PIPFLAGS) --editable ".[dev]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis explanation.html
