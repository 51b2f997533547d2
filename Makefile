# Every target works from a clean clone on a machine with Python 3.11+ and nothing else.
PYTHON ?= python3
BIN := .venv/bin
PORT ?= 8501
FUZZ_SECONDS ?= 180
FUZZ_SEED ?=

.PHONY: help setup run test test-all test-oldest check fuzz families audit sbom bench bench-pages bench-corpus \
	simulate-corpus bench-gpu load load-replicas faults image-test docs tables screenshots verify-models

help:
	@echo "make run    serve the dashboard on port $(PORT)"
	@echo "make test   install what the tests need and run them; of laws with many examples a sample"
	@echo "make test-all  the same with every example and the longest tests, for a release"
	@echo "make test-oldest  the library's tests with the lowest versions that pyproject.toml allows"
	@echo "make fuzz   read what strangers bring, made wrong at random, for FUZZ_SECONDS (180) from FUZZ_SEED"
	@echo "make check  format, lint, types, import contracts, size, known vulnerabilities, tests"
	@echo "make audit  ask for known vulnerabilities of what the image installs"
	@echo "make sbom   write sbom.cdx.json, the bill of materials of what serving needs"
	@echo "make families  count the parameters of every class of every text family in three ways (minutes)"
	@echo "make bench  measure against the alternatives and print the table"
	@echo "make bench-pages  the first picture of every page beside a bare one, and every control (half an hour)"
	@echo "make bench-corpus  the same for corpora: processes, memory, growth with rows, Ray"
	@echo "make simulate-corpus  made corpora of many shards, and arithmetic for more rows than fit (half an hour)"
	@echo "make bench-gpu  the same on a GPU: works, memory that runs out, two readers, numbers beside the CPU's"
	@echo "make load   25 visitors for a minute on one instance, twice; 100 on three behind nginx; prints the tables"
	@echo "make faults break things around a running instance and print what its readers saw"
	@echo "make image-test  build the image without Docker and check it, its proxy and its sign-in (root, Debian)"
	@echo "make docs   build the documentation site into site/, which opens from that folder"
	@echo "make tables  write the tables of docs/pages.md and docs/lessons.md, which follow from the code"
	@echo "make verify-models  download much used models and write docs/verified-models.md"
	@echo "make screenshots  take the pictures of docs/images again"
	@echo "make setup  only make .venv with everything the others need"

setup: .venv/ready
	$(COMPILE)

run: .venv/runs
	INSIDE_BERT_ALLOWED_HOSTS="$${INSIDE_BERT_ALLOWED_HOSTS-localhost}" $(BIN)/streamlit run app.py --server.port $(PORT)

# One process more than processors, since browser tests mostly wait; byte code is kept for the processes that they start.
TEST_PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(min((os.cpu_count() or 1) + 1, 4))')
PYTEST = PYTHONDONTWRITEBYTECODE= CHROMIUM="$$(sh tests/browser/find_chromium.sh $(BIN))" \
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist worksteal

test: .venv/imported
	$(PYTEST) -m "not slow" --durations=50

test-all: .venv/imported
	$(PYTEST) --durations=50

# The library's tests; Ray, the browser and UMAP, which needs a newer scikit-learn, are tested with the pins alone.
LIBRARY_TESTS := $(addprefix tests/,api architecture attention attribution checkpoints cli corpus figures heads \
	hidden_states interventions isolation journey models parameters predictions questions resources sentences tables trace)
test-oldest: .venv-oldest/ready
	.venv-oldest/bin/python -m pytest -n $(TEST_PROCESSES) --dist worksteal --ignore tests/corpus/runners/test_ray.py \
		-m "not slow and not network and not browser" $(LIBRARY_TESTS)

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tests.house.ratchets
	$(MAKE) audit
	$(MAKE) test

fuzz: .venv/ready
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

audit: .venv/ready
	$(BIN)/python deploy/audit.py

sbom: .venv/runs
	$(BIN)/python deploy/sbom.py >sbom.cdx.json

families: .venv/ready
	$(BIN)/python -m tests.helpers.every_class

bench: .venv/bench
	CHROMIUM="$$(sh tests/browser/find_chromium.sh $(BIN))" $(BIN)/python -m benchmarks

bench-pages: .venv/bench
	CHROMIUM="$$(sh tests/browser/find_chromium.sh $(BIN))" $(BIN)/python -m benchmarks.pages

bench-corpus: .venv/bench
	$(BIN)/python -m benchmarks.corpus

simulate-corpus: .venv/ready
	$(BIN)/python -m benchmarks.corpus --simulate

bench-gpu: .venv/bench
	$(BIN)/python -m benchmarks.gpu

load: .venv/bench
	$(BIN)/python -m benchmarks.load.instance
	$(MAKE) load-replicas

load-replicas: .venv/bench
	$(BIN)/python -m benchmarks.load.replicas

faults: .venv/bench
	$(BIN)/python -m benchmarks.faults

image-test: .venv/ready
	CHROMIUM="$$(sh tests/browser/find_chromium.sh $(BIN))" tests/image/build_and_check.sh $(BIN)/python

docs: .venv/ready
	BROWSER_PATH="$$(sh tests/browser/find_chromium.sh $(BIN))" $(BIN)/python -m sphinx -q -E -W --keep-going \
		-c docs/site -d .sphinx . site

tables: .venv/ready
	$(BIN)/python -m docs.tables

verify-models: .venv/ready
	$(BIN)/python -m docs.verified_models

screenshots: .venv/ready
	CHROMIUM="$$(sh tests/browser/find_chromium.sh $(BIN))" $(BIN)/python -m tests.helpers.screenshots

# Stamps: what serving needs, what tests need (with the former, at once), what benchmarks need on top of that.
# Byte code is written by all processors at once, pip would use one; a package's templates need be no valid Python. Tests
# import a quarter of what is installed, so for them Python writes what it needs in half the time.
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -r
COMPILE = $(BIN)/python -m compileall -qq -j 0 .venv/lib || true

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/runs: .venv/bin/python requirements.txt constraints.txt
	$(INSTALL) requirements.txt
	$(COMPILE)
	touch $@

.venv/ready: .venv/bin/python requirements.txt requirements-dev.txt constraints.txt
	$(INSTALL) requirements-dev.txt
	touch .venv/runs $@

# One process writes the byte code of what tests import; the processes of the tests would each write all of it.
.venv/imported: .venv/ready
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only >/dev/null
	touch $@

# The tools of the tests are the usual ones.
TEST_TOOLS := ^(beartype|captum|hypothesis|peft|pytest|pytest-timeout|pytest-xdist)==
.venv-oldest/ready: pyproject.toml constraints-oldest.txt requirements-dev.txt
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check --no-compile -c constraints-oldest.txt '.[dashboard]' \
		$$(grep -E '$(TEST_TOOLS)' requirements-dev.txt) $$(grep ^sentence-transformers== constraints.txt)
	touch $@

.venv/bench: .venv/ready benchmarks/requirements.txt benchmarks/peers.txt
	$(INSTALL) benchmarks/requirements.txt
	$(INSTALL) benchmarks/peers.txt --no-deps
	$(COMPILE)
	touch $@
