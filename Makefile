# make demo | test | fuzz | lint | bench | peers | dev | clean.   `demo` and `test` need only cargo and Python >= 3.10.
.DELETE_ON_ERROR:
.PHONY: help demo test test-rust test-python test-guard fuzz lint bench peers dev lock clean tools-present

VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# One build serves the lints, the Rust tests and the guarded extension: arithmetic that wraps panics, buffers have guard
# words, and clippy is the compiler, if it is there.
CHECKED := --locked --profile checked --workspace --features pullback-python/debug-guard
WARNINGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
LINTED := $(if $(shell command -v clippy-driver),RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=$(WARNINGS)) \
	PYO3_BUILD_EXTENSION_MODULE=1 PYO3_PYTHON=$(CURDIR)/$(BIN)/python
RUST := $(shell find src crates -type f) Cargo.toml Cargo.lock
PYTHON_SOURCES := $(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed 2>/dev/null)
GUARD := target/guard

help:
	@sed -n '1s/^# //p' Makefile

# ---------------------------------------------------------------- the environment
tools-present:
	@command -v cargo >/dev/null || { echo "pullback: install Rust 1.90 or later (rustup, which brings cargo)"; exit 1; }
	@command -v cc >/dev/null || { echo "pullback: install a C compiler (gcc or clang), which Rust links with"; exit 1; }
	@tools/find-python.sh >/dev/null

$(BIN)/python: | tools-present
	@python=$$(tools/find-python.sh) && echo "creating $(VENV) with $$python" && "$$python" -m venv $(VENV)

$(VENV)/.build $(VENV)/.demo $(VENV)/.dev: $(VENV)/.%: requirements/%.txt | $(BIN)/python
	@echo "installing $<"
	@$(PIP) -r $<
	@touch $@

# The wheel, installed. Only changed sources build it again.
$(VENV)/.wheel: $(RUST) $(PYTHON_SOURCES) pyproject.toml | $(VENV)/.build
	@rm -rf target/wheels
	$(BIN)/maturin build --release --locked --interpreter $(BIN)/python --compression-level 9 \
		--out target/wheels
	@$(BIN)/python tools/pack_wheel.py target/wheels
	@$(BIN)/python tools/wheel_size.py target/wheels
	@$(PIP) --no-deps --force-reinstall target/wheels/*.whl
	@touch $@

# ---------------------------------------------------------------- what a newcomer types
demo: tools-present $(VENV)/.demo $(VENV)/.wheel
	$(BIN)/python examples/digits.py

test: tools-present test-python test-guard test-rust

test-python: $(VENV)/.dev $(VENV)/.wheel
	$(BIN)/python -m pytest

# Properties are tried with the same numbers each time; `make fuzz` looks for others.
test-rust: | $(BIN)/python
	PROPTEST_RNG_SEED=1 $(LINTED) cargo test $(CHECKED)

# The fuzz tests once more, with guard words around every buffer, checked offsets and checked arithmetic.
test-guard: $(VENV)/.dev $(GUARD)/.built
	PULLBACK_FUZZ_PATH=$(GUARD) $(BIN)/python -m pytest -q tests/test_fuzz.py

# The properties of both languages with many examples, by a seed that nobody chose; SEED=… repeats a run.
SEED := $(or $(SEED),$(shell od -An -N3 -tu4 /dev/urandom | tr -d ' '))
EXAMPLES ?= 2000
fuzz: $(VENV)/.dev $(VENV)/.wheel
	@echo "SEED=$(SEED) EXAMPLES=$(EXAMPLES)"
	PULLBACK_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest tests/laws -o faulthandler_timeout=0 \
		--hypothesis-profile search --hypothesis-seed $(SEED)
	PROPTEST_CASES=$(EXAMPLES) PROPTEST_RNG_SEED=$(SEED) $(LINTED) cargo test $(CHECKED)

$(GUARD)/.built: $(RUST) $(PYTHON_SOURCES) | $(BIN)/python
	$(LINTED) cargo build $(CHECKED) --all-targets
	@rm -rf $(GUARD) && mkdir -p $(GUARD) && cp -r python/pullback $(GUARD)/pullback
	@cp target/checked/lib_core.so $(GUARD)/pullback/_core.so
	@touch $@

# ---------------------------------------------------------------- checks
lint: tools-present $(VENV)/.dev $(VENV)/.wheel
	cargo fmt --check
	@command -v clippy-driver >/dev/null || { echo "pullback: install clippy (rustup component add clippy)"; exit 1; }
	$(LINTED) cargo build $(CHECKED) --all-targets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pullback._stubs --check python/pullback/_core.pyi
	$(BIN)/mypy
	$(BIN)/python tools/glibc_needs.py target/wheels
	$(BIN)/python tools/layers.py
	$(BIN)/python tools/sizes.py
	$(BIN)/python tools/rust_api.py --check

# ---------------------------------------------------------------- measurements
# Runs beside PyTorch if `make peers` was run before; otherwise its columns stay empty.
bench: tools-present $(VENV)/.demo $(VENV)/.wheel
	@if [ -x $(PEERS)/bin/python ]; then $(PEERS)/bin/python -m pip install --quiet --no-deps --force-reinstall target/wheels/*.whl; fi
	@python=$(BIN)/python; [ ! -x $(PEERS)/bin/python ] || python=$(PEERS)/bin/python; $$python benches/run.py

peers: tools-present
	@python=$$(tools/find-python.sh) && "$$python" -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --disable-pip-version-check -r requirements/peers.txt

# ---------------------------------------------------------------- for contributors
dev: tools-present $(VENV)/.dev
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile iter
	@rm -f $(VENV)/.wheel

lock:
	tools/lock.sh

clean:
	rm -rf target $(VENV) $(PEERS) dist .pytest_cache .ruff_cache .mypy_cache .hypothesis digits.png
	rm -f python/pullback/_core*.so
