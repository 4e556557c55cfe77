# Every target sets up its own .venv when it is missing or older than pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench bench-check proof slow examples docs clean
.DELETE_ON_ERROR:

demo: .venv/ready
	$(BIN)/thrifty demo

test: .venv/ready
	$(BIN)/python -m pytest -n auto --dist loadfile

slow: .venv/ready
	$(BIN)/python -m pytest -m slow

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	$(BIN)/thrifty bench --html thrifty-bench.html
	$(BIN)/python -m benchmarks

# The committed summary of the suite, from a file of results, and what the documentation shows of it.
RESULTS ?= thrifty-bench.jsonl
proof: .venv/ready
	$(BIN)/thrifty bench --report --results $(RESULTS) --summary src/thrifty/bench/summary.json
	$(BIN)/python docs/site/figures.py ranks scaling
	$(BIN)/python -W error tests/documents.py docs/proof.md

# A small subset of the suite against the committed summary: under a minute. A loss beyond noise is an error.
bench-check: .venv/ready
	$(BIN)/thrifty bench --check

# Run every example of the documentation and write what it prints.
examples: .venv/ready
	$(BIN)/python -W error tests/documents.py

# The documentation as a site in build/site, for a browser without a network. A warning is an error.
docs: .venv/ready
	$(BIN)/python -m sphinx -W --keep-going -q -E -c docs/site . build/site
	@echo "Open build/site/index.html in a browser."

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache thrifty-demo

.venv/ready: pyproject.toml
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
