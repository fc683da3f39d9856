# Two commands are enough: `make lab` to learn, `make test` to develop. `make help` lists the rest.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
# pip compiles on one core. Some packages hold files that are no Python 3, hence `|| true`.
COMPILE = $(BIN)/python -m compileall -q -q -j 0 $(VENV)/lib || true
ARGS ?=
FROM ?=
# Of the notebooks: make lab LANGUAGE=zh_CN. Systems have a variable of this name too: only the command line counts.
IN_LANGUAGE = $(if $(filter command line,$(origin LANGUAGE)),--language "$(LANGUAGE)")
EDITABLE = -e course

# The staff's targets; a student package comes without this file.
-include autograder/staff.mk

.PHONY: help setup lab update doctor clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1|\2/' | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

$(VENV)/.ready: requirements.lock course/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || { \
	  echo "The course needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make lab PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --no-compile -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation $(EDITABLE)
	$(COMPILE)
	@touch $@

setup: $(VENV)/.ready ## create the environment in .venv from the locked requirements

lab: $(VENV)/.ready ## set up, then open JupyterLab on your own notebooks, in work/ (ARGS=--no-browser for a server)
	$(BIN)/python -m anatomy lab $(IN_LANGUAGE) -- $(ARGS)

update: $(VENV)/.ready ## bring a new release, keep every answer (FROM=newer-student-package.zip where there is no git)
	$(BIN)/python -m anatomy update $(IN_LANGUAGE) $(if $(FROM),--from "$(FROM)")

doctor: $(VENV)/.ready ## say what is wrong with this installation, and how to mend it
	$(BIN)/python -m anatomy doctor

clean: ## remove the environment; your notebooks and your progress stay
	rm -rf $(VENV)
