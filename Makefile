# Every verb sets up first (once, into .venv), so that `make run` and `make test` are all a newcomer needs.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
LAKE_WHEELS := duckdb==1.5.5 $(addprefix duckdb-extension-,ducklake==1.5.5 postgres-scanner==1.5.5 httpfs==1.5.5) \
	$(shell grep -E '^(dagster-postgres|psycopg2-binary)==' constraints.txt)
LAKE_DONE := .venv-lake/.set-up-$(shell cat Makefile pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
SETTINGS := $(shell cat pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
DONE := .venv/.set-up-$(SETTINGS)
RAY_DONE := .venv-ray/.set-up-$(SETTINGS)
RAY_TESTS := tests/models/scheduling/workers/test_ray_launcher.py tests/models/scheduling/workers/test_ray_launcher_cluster.py \
	tests/assets/policies/test_workers.py

# Prints what an extra of pyproject.toml asks for.
extra = $(BIN)/python -c "import tomllib; extras = tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']; \
	print(*extras['$(1)'], sep='\n')"

# Runs a command, and says every nine seconds that it still does.
saying_how_long = ( while sleep 9; do echo "  still setting up, $$SECONDS s"; done ) & said=$$!; $(1); code=$$?; kill $$said; exit $$code

# One thread per process: the work is many small steps, and more threads only fight over the cores.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: help setup run test test-all test-part test-lake test-slurm test-ray ui lint docs bench results clean constraints

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(DONE) ## Create .venv with everything pinned in constraints.txt

$(DONE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "tracehouse needs Python 3.11 or newer; choose one with make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv .venv \
		|| { echo "no .venv could be made here, the lines above say why; where Python lacks its venv module: apt install python3-venv"; rm -rf .venv; exit 1; }
	@echo "setting up .venv (once; a few minutes of downloads)"
	@$(call saying_how_long,$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0)
	@$(call saying_how_long,$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]')
	@echo "compiling what the first commands need (once; about a minute)"
	@$(call saying_how_long,$(BIN)/python -m pipelines.first_use)
	@rm -f .venv/.set-up-*; touch $@

run: setup ## Run the pipeline on the bundled logs: why jobs waited, what would change it, and a report
	@$(BIN)/tracehouse run birch larch

# Else each run rewrites the assertions of all test files again, in each process.
test test-all test-part: export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test: setup ## Run the tests that guard each change
	@$(PYTEST) -m "not thorough"

test-all: setup ## Run all tests, the thorough ones too (tests/kinds.py)
	@$(PYTEST)

test-part: setup ## Run a part of the thorough tests, another one each day, all within four
	@$(PYTEST) -m thorough --part $$(( $$(date +%s) / 86400 % 4 ))/4

SLURM_PACKAGES := slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins mariadb-server faketime libfaketime

test-slurm: setup ## Run real Slurm in accelerated time, and hold our readers and engine to it, where its packages are to be had
	@command -v slurmctld slurmdbd mariadbd faketime > /dev/null || test "$$(id -u)" != 0 || DEBIAN_FRONTEND=noninteractive timeout 300 \
		apt-get install -qq -y --no-install-recommends -o Acquire::Retries=0 -o Acquire::http::Timeout=10 $(SLURM_PACKAGES) > /dev/null 2>&1 || true
	@TRACEHOUSE_TEST_SLURM=1 $(BIN)/python -m pytest -p no:cacheprovider -rs tests/slurm

# Wheels of DuckDB's extensions for a lake exist for 1.5.5. All else is the main environment's, which comes after it on the path. Without a
# network this ends within a minute, and says what was not run.
test-lake: export PYTHONDONTWRITEBYTECODE :=
test-lake: setup ## Run tests and stress over DuckLake on PostgreSQL, where both are to be had
	@test -e $(LAKE_DONE) || { rm -rf .venv-lake && $(PYTHON) -m venv .venv-lake \
		&& .venv-lake/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 10 --no-deps $(LAKE_WHEELS) \
		&& echo "import site; site.addsitedir('$(CURDIR)/.venv/lib/$$(ls .venv/lib)/site-packages')" \
			> $$(echo .venv-lake/lib/*/site-packages)/main-environment.pth \
		&& $(call extra,object-store) > .venv-lake/object-store.txt \
		&& .venv-lake/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r .venv-lake/object-store.txt \
		&& for name in tracehouse dagster dagster-daemon dagster-webserver; do \
			sed '1s|.*|#!$(CURDIR)/.venv-lake/bin/python|' $(BIN)/$$name > .venv-lake/bin/$$name && chmod +x .venv-lake/bin/$$name; done \
		&& touch $(LAKE_DONE); } \
		|| { rm -rf .venv-lake; echo "not run: the tests over a lake, and the stress: $(LAKE_WHEELS) cannot be installed here"; exit 0; }; \
	test -e /usr/lib/postgresql || test "$$(id -u)" != 0 || timeout 120 apt-get install -qq -y --no-install-recommends \
		-o Acquire::Retries=0 -o Acquire::http::Timeout=10 postgresql > /dev/null 2>&1 || true; \
	test ! -e .venv-lake || .venv-lake/bin/python -m tests.lake.run

# Ray and the clients of Dagster for clusters are the extra `cluster`, which `dev` lacks. The main environment comes after it on the path,
# so that pip adds only what is missing there.
test-ray: export PYTHONDONTWRITEBYTECODE :=
test-ray: setup ## Run the tests of workers on Ray and in pods, where the extra `cluster` is to be had
	@test -e $(RAY_DONE) || { $(PYTHON) -m venv .venv-ray \
		&& echo "import site; site.addsitedir('$(CURDIR)/.venv/lib/$$(ls .venv/lib)/site-packages')" \
			> $$(echo .venv-ray/lib/*/site-packages)/main-environment.pth \
		&& $(call extra,cluster) > .venv-ray/cluster.txt \
		&& .venv-ray/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r .venv-ray/cluster.txt \
		&& touch $(RAY_DONE); } \
		|| { rm -rf .venv-ray; echo "not run: the tests of Ray: the extra cluster cannot be installed here"; exit 0; }; \
	test ! -e .venv-ray || .venv-ray/bin/python -m pytest -p no:cacheprovider -rs --durations=3 $(RAY_TESTS)

ui: setup ## Open the Dagster UI on http://127.0.0.1:3000
	@$(BIN)/tracehouse ui

lint: setup ## Check style, types, layers and prose
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache && $(BIN)/python -m tests.prose

docs: setup ## Write the generated parts of pages again, and build the documentation into docs/_build/html
	@$(BIN)/python -m docs.reference_pages
	@$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: setup ## Time readers, simulator, training and ingest, and print how replays agree with other simulators
	@$(BIN)/python -m benchmarks.run
	@$(BIN)/python -m benchmarks.ingest
	@$(BIN)/python -m studies agreement

results: setup ## Store the published tables of the warehouse in docs/results.json and write them into the pages
	@$(BIN)/python -m studies results

constraints: setup ## Pin the newest versions that fit together (needs the network)
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate \
		--custom-compile-command "make constraints" -o constraints.txt pyproject.toml

clean: ## Remove warehouse, histories, models, generated logs, reports and Dagster's records (see tracehouse backup)
	cd '$(or $(TRACEHOUSE_HOME),.)' && rm -rf warehouse/data storage history schedules logs .nux .telemetry .logs_queue
