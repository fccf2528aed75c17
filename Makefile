# Every target makes the virtual environment it needs in .venv; the only requirements are python3 and pip.
PYTHON ?= python3
JOBS ?= auto
BIN := .venv/bin
# Nearly all the time of the tests goes into compiling small programs, a quarter as long with these flags of XLA (those
# that the installed one knows: it ends the process at others); test-all runs them fully optimised.
QUICK_COMPILER := --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_use_fusion_emitters=false

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-accelerators bench docs lint format install dev clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: .venv/base ## rank the 58 models of the bundled data with 95 % intervals
	$(BIN)/jaxrank demo

test: .venv/quick ## the tests and notebooks, without the slow ones
	XLA_FLAGS="$$(cat .venv/quick) $(XLA_FLAGS)" $(BIN)/pytest --nbmake -n $(JOBS) --dist worksteal -m "not slow" $(ARGS)

test-all: .venv/dev ## all tests and notebooks
	$(BIN)/pytest --nbmake -n $(JOBS) --dist worksteal $(ARGS)

test-accelerators: .cache/accelerators ## every method through the compilers for an H100 and a TPU v5e; needs no device
	XLA_FLAGS= JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 PYTHONPATH=.:.cache/accelerators \
		$(BIN)/python -m experiments.accelerators.run $(ARGS)

bench: .venv/dev ## the benchmarks of experiments/benchmarks, one after the other
	@set -e; for script in experiments/benchmarks/*.py; do \
		[ -e "$$script" ] || { echo "experiments/benchmarks holds no script"; break; }; \
		echo "== $$script"; $(BIN)/python "$$script"; done

docs: .venv/docs ## the documentation, in build/docs; its pages are executed
	JAX_COMPILATION_CACHE_DIR="$${JAX_COMPILATION_CACHE_DIR:-$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/jaxrank/jax}" \
		$(BIN)/sphinx-build -W --keep-going -q -d .cache/docs/doctrees docs build/docs
	@echo "build/docs/index.html"

lint: .venv/dev ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: .venv/dev ## let ruff lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

install: .venv/base ## the library alone, in .venv
dev: .venv/dev ## the library with everything that the tests need, in .venv

clean: ## remove the virtual environment and all caches
	rm -rf .venv .cache .pytest_cache .ruff_cache build dist

.venv/bin/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv && $(PYTHON) -m pip install -q --target .cache/virtualenv virtualenv \
		&& PYTHONPATH=.cache/virtualenv $(PYTHON) -m virtualenv -q .venv; }

.venv/base: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/dev: pyproject.toml | .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

# Beside the environment and not in it: with the plugins installed JAX would look for a GPU in every test.
.cache/accelerators: | .venv/dev
	@version=$$($(BIN)/python -c "import jax; print(jax.__version__)") && rm -rf $@ && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@.part \
			jax-cuda12-plugin==$$version jax-cuda12-pjrt==$$version libtpu && mv $@.part $@

.venv/quick: Makefile $(wildcard .venv/lib/python*/site-packages/jaxlib-*) | .venv/dev
	@known=; for flag in $(QUICK_COMPILER); do \
		if JAX_PLATFORMS=cpu XLA_FLAGS="$$flag" $(BIN)/python -c "import jax; jax.devices()" >/dev/null 2>&1; \
		then known="$$known $$flag"; fi; done; echo "$$known" > $@

.venv/docs: pyproject.toml | .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@
