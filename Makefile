# The main targets are `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
WORKERS ?= 2

.PHONY: help setup demo docs test test-all lint lint-imports format typecheck wheel wheel-check dist pins reference check-terms bench bench-detail mutants local-families clean

help:
	@echo "make demo       build, release and evaluate a benchmark from generated raw data"
	@echo "make test       run the fast tests (minutes)"
	@echo "make test-all   run every test with coverage"
	@echo "make docs       build the documentation as a searchable site in docs/_build/html"
	@echo "make lint       ruff and the import contracts    make format     format the code"
	@echo "make typecheck  mypy, strict                     make wheel-check  test the installed wheel"
	@echo "make pins       run the suite with the lowest and the newest allowed versions"
	@echo "make check-terms INDEX=...  check the shipped ontology ids against your own index"
	@echo "make local-families  compare batched and single inference for ten families of local models"
	@echo "make mutants    measure the mutation score of the core rules and write its page (an hour)"
	@echo "make bench      compare speed with peers, write docs/reference/performance.md (half an hour)"
	@echo "make bench-detail  measure memory, builds, review and evaluation, write performance-in-detail.md"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "medrcube needs Python 3.11 or newer; run  make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[build,evaluate]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.run

setup: $(VENV)/.dev .dev/medrcube

demo: $(VENV)/.run
	$(BIN)/medrcube demo demo

$(VENV)/.docs: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[docs]'
	@touch $@

# Warnings, such as broken links, are errors. Nothing is downloaded.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Compiled modules are kept, for the many processes that tests start. In the order of their names the
# files with the longest tests do not come last, when other workers have nothing left to do.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile \
	--no-loadscope-reorder -o tmp_path_retention_policy=failed

# Temporary files are kept in memory where there is room: waiting for a disk takes a sixth of the time.
in_memory = $(shell df -k --output=avail /dev/shm 2> /dev/null \
	| awk 'NR == 2 && $$1 > $(1) {print "/dev/shm"}')

# The tests to run on a change; tests marked thorough run in test-all only.
test: $(VENV)/.dev
	PYTEST_DEBUG_TEMPROOT=$(call in_memory,4000000) $(PYTEST) -m "not thorough" $(TESTFLAGS)

# Python 3.12 and later report executed lines to coverage, which costs less than a tracer.
TRACER = $$($(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")')

# Two workers leave a sixth of two cores idle, since tests of servers and browsers wait.
test-all: WORKERS = 3
test-all: $(VENV)/.dev
	rm -f .coverage .coverage.*
	PYTEST_DEBUG_TEMPROOT=$(call in_memory,8000000) COVERAGE_CORE=$(TRACER) \
		$(PYTEST) --hypothesis-profile thorough --cov --cov-report= $(TESTFLAGS)
	$(BIN)/python -m coverage report --fail-under 90
	$(BIN)/python -m coverage report --fail-under 95 \
		--include 'medrcube/*,sources/_framework/contract.py,build/*' --format total

lint: $(VENV)/.dev lint-imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-imports: $(VENV)/.dev .dev/medrcube
	cd .dev && ../$(BIN)/lint-imports --config ../pyproject.toml --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Type checkers cannot follow a mapped editable install, so a tree of links shows them the package.
.dev/medrcube: pyproject.toml
	@rm -rf $@ && mkdir -p $@
	@for file in medrcube/*; do ln -sfn ../../$$file $@/$${file##*/}; done
	@for part in build evaluate ontologies review sources tasks templates; do ln -sfn ../../$$part $@/$$part; done
	@touch $@

typecheck: $(VENV)/.dev .dev/medrcube
	$(BIN)/mypy -p medrcube $(TYPEFLAGS)

# Pages and images generated from the cards and the command line.
reference: $(VENV)/.run
	$(BIN)/medrcube sources page docs
	$(BIN)/python tests/sources/copies/page.py docs
	$(BIN)/python -m typer medrcube.cli.app utils docs --name medrcube --title Commands \
		| tr -d '\010' > docs/reference/commands.md  # click's mark for "do not wrap"

# Every id of ontologies/terms.csv against an index made by  medrcube ontologies index.
check-terms: $(VENV)/.run
	$(BIN)/medrcube ontologies check $(if $(INDEX),--index $(INDEX))

# Peers and data go to a cache folder outside the repository; MEDRCUBE_BENCH names another one.
# One row in seconds:  make bench BENCHFLAGS='--only "uint8, 20"'   (repeatable; parts of names)
bench: $(VENV)/.run
	$(BIN)/python benchmarks/speed_table.py $(BENCHFLAGS)

bench-detail: $(VENV)/.run
	$(BIN)/python benchmarks/run.py $(BENCHFLAGS)

# Ten families of local models with tiny random weights: batched against single inference.
# Needs  pip install '.[evaluate,local]'  with a torchvision of the same build as torch.
local-families: $(VENV)/.run
	$(BIN)/python benchmarks/local_families.py

# Share of small faults in the core rules that their own tests catch (an hour).
mutants: $(VENV)/.dev
	$(BIN)/python benchmarks/mutation.py --out docs/reference/mutation-score.md $(MUTANTFLAGS)

# The package as a user installs it, outside the checkout.
wheel-check: $(VENV)/.dev
	rm -rf dist .wheel && mkdir .wheel
	$(MAKE) --no-print-directory wheel
	$(PYTHON) -m venv .wheel/venv
	.wheel/venv/bin/python -m pip --disable-pip-version-check -qq install \
		--constraint constraints.txt "$$(ls dist/*.whl)[build,evaluate,ontologies,review,postgresql,validate]" \
		django-stubs pandas-stubs
	cd .wheel && venv/bin/medrcube --help > help.txt
	cd .wheel && venv/bin/medrcube demo demo --only busi --only vindr-cxr --workers 1
	cd .wheel && ../$(BIN)/mypy --python-executable venv/bin/python -p medrcube
	rm -rf .wheel

# Wheel and source distribution with absolute links:  make dist REPOSITORY=https://HOST/OWNER/medrcube
dist: $(VENV)/.dev
	rm -rf dist .wheel
	$(BIN)/python .ci/dist.py $(REPOSITORY)
	$(PYTHON) -m venv .wheel && .wheel/bin/python -m pip --disable-pip-version-check -qq install twine
	.wheel/bin/twine check --strict dist/*
	rm -rf .wheel

wheel: $(VENV)/.dev
	$(PIP) wheel --no-deps --wheel-dir dist .

# The suite with the lowest and with the newest versions that pyproject.toml allows, each in an
# environment of its own; without torch, of which builds differ. PINTESTS names fewer tests.
PINS := .pins
PINTESTS ?= tests
EXTRAS := $(addprefix --extra=,build evaluate ontologies review postgresql validate dask get)
pins: $(BIN)/python
	rm -rf $(PINS) && $(PYTHON) -m venv $(PINS)/uv && $(PINS)/uv/bin/python -m pip -qq install uv
	for end in lowest-direct highest; do \
		env=$(PINS)/$$end; uv=$(PINS)/uv/bin/uv; \
		$$uv venv -q --python $(PYTHON) $$env \
		&& $$uv pip compile -q --python $(PYTHON) --resolution $$end $(EXTRAS) \
			pyproject.toml -o $$env/pins.txt \
		&& $$uv pip install -q --compile-bytecode --python $$env/bin/python -r $$env/pins.txt \
		&& $$uv pip install -q --compile-bytecode --python $$env/bin/python --constraint $$env/pins.txt \
			pytest pytest-cov hypothesis prov mlcroissant dask-jobqueue datasets playwright axe-playwright-python \
		&& $$uv pip install -q --compile-bytecode --python $$env/bin/python --no-deps --editable . \
		&& $$env/bin/python -m pytest -q $(PINTESTS) || exit 1; \
	done

clean:
	rm -rf .dev .venv .wheel .pins .setuptools dist demo docs/_build *.egg-info
