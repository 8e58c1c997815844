# Two commands: `make demo` runs the whole graph on the sample kitchen, `make test` passes the tests. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed

.PHONY: demo test ui lint install clean

install: $(READY)

$(READY): constraints.txt pyproject.toml
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[dev]"
	touch $@

demo: $(READY)
	$(BIN)/interject demo

ui: $(READY)
	@exec $(BIN)/interject ui

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy assets resources sensors ml dagster_project measure
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy assets resources sensors ml dagster_project measure

clean:
	rm -rf data $(VENV)
