# Two commands do everything from a bare machine with Python 3.11+ and pip:  make demo   make test
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CORE = $(VENV)/.core
STAMP = $(VENV)/.tests
WORKERS ?= auto

.PHONY: help demo docs test processes test-long test-newest planted mutants gallery shown recorded papers papers-quick audit audit-quick lint bench bench-quick peers judges \
  synthetic bench-speed coverage clean

help:
	@echo "make demo         set up .venv, publish three things about a made-up survey under one budget, and write a report"
	@echo "make test         set up .venv and run the test suite with the pinned versions (but for what the next four run)"
	@echo "make processes    the tests with clusters, races, killed processes and an emulated graphics card"
	@echo "make test-long    the suite with races and kills repeated 30 and 200 times"
	@echo "make test-newest  the same suite against the newest releases of every dependency (.venv-newest)"
	@echo "make planted      plant known faults in the source, one at a time, and see that the test named for each fails"
	@echo "make mutants      plant faults that were drawn at random over all rooms, and see that a test fails on each (SEED=7 NUMBER=100: new ones)"
	@echo "make papers       every figure, table and claim of the three papers (an hour; RUNS=50 repeats experiments on data more often)"
	@echo "make papers-quick the same with little simulation (minutes)"
	@echo "make audit        attack every procedure with every model, and planted faults to show that the attacks see (an hour)"
	@echo "make audit-quick  the same with fewer runs and models, and the tests of the auditor (minutes)"
	@echo "make lint         ruff and the strict type check"
	@echo "make bench-quick  import cost and planning times"
	@echo "make docs         the documentation as a site in build/site, links checked"
	@echo "make shown        whatever users see, all of it: the pages' code, examples, the gallery, and reports in a browser (minutes)"
	@echo "make recorded     write the recorded outputs anew (tests/recorded), after outputs were changed on purpose"
	@echo "make gallery      run the twelve scripts of the gallery, in build/gallery, and draw the pictures of its page"
	@echo "make peers        private regressions beside their rivals and diffprivlib's (.venv-peers; needs the tables; hours)"
	@echo "make judges       the auditor beside jax_privacy's, OpenDP's noise and diffprivlib (.venv-peers; minutes)"
	@echo "make synthetic    synthetic tables beside AIM, MST and PrivBayes of dpmm (.venv-dpmm, Python 3.10 or 3.11; needs the tables; hours)"
	@echo "make bench-speed  what a pass over the rows and a default fit cost, with their aims"
	@echo "make coverage     how often intervals of regressions hold the fit that they are for (needs the tables; a quarter of an hour; a quick form is a test)"

# The core is enough for the demo; tests and linters add their own packages to the same environment.
$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Sfumato needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11")'
	@echo "setting up $(VENV) (once) ..."
	@start=$$(date +%s); \
	(test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)) && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . && \
	echo "installed in $$(($$(date +%s) - start)) s, $$(du -sm $(VENV) | cut -f1) MB"
	@touch $(CORE)

$(STAMP): $(CORE)
	@echo "adding what the tests need (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint]'
	@touch $(STAMP)

demo: $(CORE)
	@$(BIN)/sfumato demo

# A file's tests stay in one worker, so that what they share (plans, compiled kernels, servers) is made once; and bytecode
# is kept, since many tests start processes that import the library.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# Workers fill the cores: the threads of a BLAS in each would only fight over them.
test test-long test-newest: export OPENBLAS_NUM_THREADS = 1

# Four steps share the suite: what users see (`make shown`), the auditor (`make audit-quick`), clusters, races of processes and an
# emulated card (`make processes`), and everything else here.
PAGES = tests/test_examples.py tests/test_gallery.py tests/pages tests/recorded tests/walks tests/plots/test_notebook_in_a_browser.py \
  tests/shells/test_report_in_a_browser.py tests/shells/test_ledger_report_in_a_browser.py
AUDITOR = tests/auditing/test_audit.py tests/auditing/test_battery.py tests/auditing/test_mutation.py \
  tests/auditing/test_neighbours.py tests/auditing/test_one_run.py
PROCESSES = tests/engines/test_gpu.py tests/engines/test_dask.py tests/engines/test_every_engine.py tests/ledger/test_ledger_race.py \
  tests/ledger/test_ledger_forks.py tests/ledger/test_ledger_folder.py tests/ledger/test_ledger_publishing.py \
  tests/ledger/test_ledger_requests.py
# Of these the suite runs a sample, and `make shown` all.
SAMPLED = tests/test_pages.py tests/shells/test_persons_commands.py tests/shells/test_regression_commands.py

test: $(STAMP)
	@$(BIN)/python tests/warm.py
	@$(PYTEST) tests $(PAGES:%=--ignore=%) $(AUDITOR:%=--ignore=%) $(PROCESSES:%=--ignore=%)

processes: export OPENBLAS_NUM_THREADS = 1
processes: $(STAMP)
	@$(PYTEST) -q $(PROCESSES)

test-long: $(STAMP)
	@SFUMATO_LONG=1 $(PYTEST) tests

# The newest Python that is found: some libraries' newest releases serve no older one.
NEWEST ?= $(shell for each in python3.14 python3.13 python3.12; do $$each -c '' 2>/dev/null && echo $$each && break; done)
test-newest:
	@test -n "$(NEWEST)" || echo "no Python 3.12 or newer was found (set NEWEST=...): ArviZ 1.x and its DataTree are not tested here"
	@test -x .venv-newest/bin/python || $(or $(NEWEST),$(PYTHON)) -m venv .venv-newest
	@.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -e '.[test,lint]'
	@.venv-newest/bin/python -m pytest -n $(WORKERS) tests

planted: $(STAMP)
	@$(BIN)/python tests/planted/plant.py -j 2

# Bytecode is kept: every fault starts Python anew.
mutants: $(STAMP)
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python tests/mutants/run.py -j 2 $(if $(SEED),--seed $(SEED) --number $(or $(NUMBER),100)) $(ROOM)

# One script at a time, all cores for its matrix products; in the quick form one core, since idle threads of a BLAS spin.
papers-quick: export OPENBLAS_NUM_THREADS = 1
papers: $(STAMP)
	@$(BIN)/sfumato papers $(NAME)

papers-quick: $(STAMP)
	@$(BIN)/sfumato papers --quick $(NAME)

# Attacks on made-up data; OUT is where results are written, from which docs/audit.md is made (python -m audits.page).
audit audit-quick: export OPENBLAS_NUM_THREADS = 1
audit: $(STAMP)
	@$(BIN)/python -m audits.battery -j 2
	@$(BIN)/python -m audits.mutation -j 2

audit-quick: $(STAMP)
	@$(PYTEST) -q $(AUDITOR)
	@$(BIN)/python -m audits.battery --quick
	@$(BIN)/python -m audits.mutation --quick

shown recorded: export OPENBLAS_NUM_THREADS = 1
shown: $(STAMP)
	@SFUMATO_LONG=1 $(PYTEST) -q $(PAGES) $(SAMPLED)

# The texts that tests/recorded compares with are written anew: read what differs before it is committed.
recorded: $(STAMP)
	@rm -rf tests/recorded/texts
	@SFUMATO_RECORD=1 $(PYTEST) -q tests/recorded
	@git status --short tests/recorded/texts

# Each script in a folder of its own: it writes a table, a ledger and a release there. Reports stand beside them.
GALLERY = $(notdir $(basename $(wildcard gallery/*.py)))
gallery: $(STAMP)
	@mkdir -p docs/images/gallery
	@for each in $(GALLERY); do \
	  rm -rf build/gallery/$$each && mkdir -p build/gallery/$$each && (cd build/gallery/$$each && \
	  $(abspath $(BIN))/python $(CURDIR)/gallery/$$each.py --picture $(CURDIR)/docs/images/gallery/$$each.svg > printed.txt && \
	  $(abspath $(BIN))/sfumato report $$each.sfumato -o $$each.html --ledger budget.db) || exit 1; \
	done
	@echo "pictures in docs/images/gallery, tables, releases and reports in build/gallery"

lint: $(STAMP)
	@$(BIN)/ruff check src tests benchmarks examples gallery tools papers audits
	@$(BIN)/ruff format --check src tests benchmarks examples gallery tools papers audits
	@$(BIN)/mypy

bench-quick: $(STAMP)
	@$(BIN)/python benchmarks/quick.py

bench-speed: $(STAMP)
	@$(BIN)/python benchmarks/speed.py

bench: bench-quick bench-speed
	@$(BIN)/python benchmarks/memory.py

# diffprivlib needs an older scikit-learn than ours: an environment of its own.
PEERS = .venv-peers
$(PEERS)/.ready:
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check 'diffprivlib==0.6.6' 'scikit-learn<1.8' \
	  'jax-privacy==2.0.0' 'opendp==0.16.0'
	@touch $(PEERS)/.ready

peers: $(STAMP) $(PEERS)/.ready
	@$(BIN)/python benchmarks/utility.py --peers $(PEERS)/bin/python

judges: $(STAMP) $(PEERS)/.ready
	@PYTHONPATH=benchmarks $(BIN)/python benchmarks/audit_judges.py --peers $(PEERS)/bin/python

# dpmm pins older numpy and pandas, and serves Python 3.10 and 3.11 only: an environment of its own.
DPMM = .venv-dpmm
DPMM_PYTHON ?= $(shell for each in $(PYTHON) python3.11 python3.10; do \
  $$each -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 12))' 2>/dev/null && echo $$each && break; done)
$(DPMM)/.ready:
	@test -n "$(DPMM_PYTHON)" || (echo "dpmm needs Python 3.10 or 3.11: set DPMM_PYTHON=/path/to/python3.11" && exit 1)
	@test -x $(DPMM)/bin/python || $(DPMM_PYTHON) -m venv $(DPMM)
	@$(DPMM)/bin/python -m pip install --quiet --disable-pip-version-check 'dpmm==0.1.9'
	@touch $(DPMM)/.ready

# What docs/benchmarks/synthetic.json holds already is not made again (ARGUMENTS=--again makes it anew).
synthetic: export OPENBLAS_NUM_THREADS = 1
synthetic: $(STAMP) $(DPMM)/.ready
	@$(BIN)/python benchmarks/synthetic.py --peers $(DPMM)/bin/python --epsilons .1,.3,1,3 $(ARGUMENTS)

# The figures of the commit that the page compares with are kept; where they are not, git has its source.
BEFORE = benchmarks/estimands_44d0f36.json
$(BEFORE): | $(STAMP)
	@rm -rf build/before && mkdir -p build/before && git archive 44d0f36 src | tar -x -C build/before
	@PYTHONPATH=build/before/src $(BIN)/python benchmarks/estimands.py --tables tables --out $@

coverage $(BEFORE): export OPENBLAS_NUM_THREADS = 1
coverage: $(STAMP) $(BEFORE)
	@mkdir -p build
	@$(BIN)/python benchmarks/estimands.py --out build/estimands.json
	@$(BIN)/python benchmarks/estimands.py --page build/estimands.json $(BEFORE)

# Two tools read the same mkdocs.yml; a broken link fails either. Zensical is built where it can be installed.
$(VENV)/.docs: $(CORE)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check zensical || echo "no zensical here: mkdocs alone"
	@touch $(VENV)/.docs

docs: $(VENV)/.docs
	@if test -x $(BIN)/zensical; then $(BIN)/zensical build --strict --clean || exit 1; rm -rf .cache; fi
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

clean:
	rm -rf .venv .venv-newest .venv-peers .venv-dpmm build dist .cache
