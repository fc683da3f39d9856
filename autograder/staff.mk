# Targets for authors, instructors and developers. Included by the Makefile; not part of a student package.
EDITABLE = -e course -e .
DEVICE ?= cpu
WORKERS ?= 4
export OMP_NUM_THREADS ?= 1

.PHONY: in-language build catalogs exercise preview messages mutate record experiments drawings pictures stills class-pictures test tests test-changed test-kernels lint format release wheel grade report held rehearsal roster collect feedback export publish due backup bench bench-similar bench-grading bench-cheats bench-naming bench-answers bench-widgets site site-check lock system-packages film bench-judge

$(VENV)/.ready-staff: $(VENV)/.ready requirements-staff.lock
	$(PIP) install --quiet --no-compile -r requirements-staff.lock
	$(COMPILE)
	@touch $@

# A checkout holds the English notebooks. Those of another language are built from its catalogs, which a pull may change.
ifeq ($(origin LANGUAGE),command line)
lab update: in-language
endif
in-language: $(VENV)/.ready-staff ## (done by itself before `make lab LANGUAGE=zh_CN`)
	$(if $(filter-out en,$(LANGUAGE)),$(BIN)/python -m autograder.languages.notebooks "$(LANGUAGE)")

# LANG is the system's locale too, and make takes it from there: only one from the command line counts.
LANGUAGE = $(if $(filter command line,$(origin LANG)),$(LANG))

build: $(VENV)/.ready-staff ## write the notebooks in solutions/ and course/ (ARGS=--replace over changes; LANG=zh_CN: build/zh_CN)
	$(if $(LANGUAGE),LANG=C.UTF-8 $(BIN)/python -m autograder.languages.notebooks "$(LANGUAGE)" $(if $(UNIT),--unit "$(UNIT)"), \
	  $(BIN)/python -m autograder.build $(ARGS))

catalogs: $(VENV)/.ready-staff ## bring locale/ up to date, say how much is translated (ARGS=--check; ARGS="--begin de 00-start-here")
	$(BIN)/python -m autograder.languages $(ARGS)

exercise: $(VENV)/.ready-staff ## begin an exercise; again: what it lacks, then record, build, test (ID= UNIT= AFTER=)
	@$(BIN)/python -m autograder.authoring "$(ID)" $(if $(UNIT),--unit "$(UNIT)") $(if $(AFTER),--after "$(AFTER)")

preview: $(VENV)/.ready-staff ## see units as learners will, in build/preview (UNIT=06-rope for one)
	$(BIN)/python -m autograder.build.preview $(if $(UNIT),--unit $(UNIT)) -- $(ARGS)

messages: $(VENV)/.ready-staff ## print what learners read for wrong answers (UNIT=01-attention; ARGS=--examples)
	$(BIN)/python -m autograder.messages $(if $(UNIT),--unit $(UNIT)) $(ARGS)

mutate: $(VENV)/.ready-staff ## change right answers in one place each: is every mistake found? (UNIT=06-rope; ARGS=--show)
	$(BIN)/python -m autograder.mutation $(if $(UNIT),--unit $(UNIT)) --workers $(WORKERS) $(ARGS)

record: $(VENV)/.ready ## run the references and write assets/recordings (UNIT=06-rope; DEVICE=cuda or cpu; ARGS=--fresh)
	$(BIN)/python -m autograder.recording --device $(DEVICE) $(if $(UNIT),--unit $(UNIT)) $(ARGS)

experiments: $(VENV)/.ready ## measure all experiments and draw their figures (DEVICE=cuda or cpu; ARGS="--only length")
	$(BIN)/python -m autograder.recording.experiments --device $(DEVICE) $(ARGS)

drawings: $(VENV)/.ready ## draw assets/drawings, the pictures of whole blocks and models (ARGS=--check)
	$(BIN)/python -m anatomy.drawings $(ARGS)

pictures: $(VENV)/.ready-staff ## store what widgets look like, for tests/widgets/test_pictures.py (ARGS=RopeExplorer for one)
	$(BIN)/python -m tests.widgets.comparing $(ARGS)

film: $(VENV)/.ready-staff ## film the README's moving picture in JupyterLab, light and dark (ARGS=dark for one)
	$(BIN)/python -m tests.browser.film $(ARGS)

stills: $(VENV)/.ready-staff ## take the gallery's pictures of the widgets that look different now (ARGS=RopeExplorer for one)
	$(BIN)/python -m autograder.build.stills $(ARGS)

class-pictures: $(VENV)/.ready-staff ## take the pictures of docs/instructors.md, of a made-up class
	$(BIN)/python -m autograder.build.class_pictures

test: lint tests ## lint, then run the tests but for what was proved and has not changed (UNIT=06-rope for one unit's; ARGS="-k rope", --cpu)

tests: $(VENV)/.ready-staff ## the same without lint, which .ci/run has beside it
	$(BIN)/python -m autograder.build --check
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(if $(UNIT),--unit $(UNIT)) $(ARGS)

test-all: ## run every test, also what was proved on this machine before
	$(MAKE) test ARGS="--all $(ARGS)"

test-changed: $(VENV)/.ready-staff ## run the tests of what differs from main; if nothing does, of the last commit (BASE=commit)
	$(BIN)/python -m tests.changed $(if $(BASE),--base $(BASE)) -- -n $(WORKERS) --dist loadgroup $(ARGS)

test-kernels: $(VENV)/.ready-staff ## run the units' tests as on other processors: three sets of CPU kernels, one and two threads
	@for kernels in default avx2 ""; do for threads in 1 2; do \
	  echo "── kernels: $${kernels:-this processor's own}, threads: $$threads"; \
	  env $${kernels:+ATEN_CPU_CAPABILITY=$$kernels} OMP_NUM_THREADS=$$threads \
	    $(BIN)/python -m pytest -q -n $(WORKERS) tests/units $(ARGS) || exit 1; done; done

lint: $(VENV)/.ready-staff ## check style, layout and types of the code (make format mends the layout)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check . || { echo "Some files are not laid out by the formatter: make format"; exit 1; }
	$(BIN)/mypy

format: $(VENV)/.ready-staff ## lay out the code, and mend what the linter can mend by itself
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format .

release: $(VENV)/.ready-staff ## write dist/: the student package, a zip of the learner's wing alone (LANGUAGE=zh_CN)
	$(BIN)/python -m autograder.build.package $(IN_LANGUAGE) $(ARGS)

wheel: $(VENV)/.ready-staff ## write dist/: the same as a wheel, for pip, pipx and uv
	$(BIN)/python -m autograder.build.wheel

grade: $(VENV)/.ready-staff ## grade a folder student/unit/unit.ipynb (SUBMITTED=dir; STUDENT= or UNIT= for some; SCHEDULER=address for many machines)
	@test -n "$(SUBMITTED)" || { echo "Say which folder: make grade SUBMITTED=dir (laid out student/unit/unit.ipynb)"; exit 2; }
	$(BIN)/python -m autograder.grading "$(SUBMITTED)" $(if $(UNIT),--unit "$(UNIT)" )$(if $(STUDENT),--student "$(STUDENT)" )$(if $(SCHEDULER),--scheduler $(SCHEDULER)) $(ARGS)

rehearsal: $(VENV)/.ready-staff ## grade three made-up submissions in build/rehearsal, apart from the class (UNIT=01-attention)
	$(BIN)/python -m autograder.classes.rehearsal $(if $(UNIT),--unit "$(UNIT)") $(ARGS)

validate-sandbox: $(VENV)/.ready-staff ## have nbgrader's Validate run notebooks in a sandbox (ARGS="--prefix dir")
	$(BIN)/python -m autograder.sandbox.kernelspec $(ARGS)

roster: $(VENV)/.ready-staff ## read the students of a class from a CSV file (FILE=students.csv)
	@test -n "$(FILE)" || { echo "Say which file: make roster FILE=students.csv"; exit 2; }
	$(BIN)/python -m autograder.classes.roster "$(FILE)" $(ARGS)

collect: $(VENV)/.ready-staff ## take in a download of Moodle or Canvas, or a tree (ZIP=path; UNIT=06-rope; WORKSHEET=file)
	@test -n "$(ZIP)" || { echo "Say which zip or folder: make collect ZIP=path"; exit 2; }
	$(BIN)/python -m autograder.classes.collect "$(ZIP)" $(if $(UNIT),--unit "$(UNIT)") \
	  $(if $(WORKSHEET),--worksheet "$(WORKSHEET)") $(ARGS)

feedback: $(VENV)/.ready-staff ## pack the students' pages for Moodle or Canvas (ZIP=the download that was collected; UNIT=; WORKSHEET=file)
	@test -n "$(ZIP)" || { echo "Say which download was collected: make feedback ZIP=path"; exit 2; }
	$(BIN)/python -m autograder.classes.giving_back "$(ZIP)" $(if $(UNIT),--unit "$(UNIT)") \
	  $(if $(WORKSHEET),--worksheet "$(WORKSHEET)") $(ARGS)

export: $(VENV)/.ready-staff ## scores for another gradebook (FORMAT=moodle, canvas or wide; TEMPLATE=Canvas's own export, or Moodle's grading worksheet; UNIT=)
	@test -n "$(FORMAT)" || { echo "Say which: make export FORMAT=moodle, canvas or wide"; exit 2; }
	$(BIN)/python -m autograder.classes.export "$(FORMAT)" $(if $(TEMPLATE),--template "$(TEMPLATE)") \
	  $(if $(UNIT),--unit "$(UNIT)") $(ARGS)

publish: $(VENV)/.ready-staff ## make tables and students' pages agree with the gradebook again (STUDENT= or UNIT= for some)
	$(BIN)/python -m autograder.grading.pages.publishing $(if $(UNIT),--unit "$(UNIT)") $(if $(STUDENT),--student "$(STUDENT)") $(ARGS)

due: $(VENV)/.ready-staff ## when a unit is due (UNIT=06-rope DATE="2026-12-01 23:59", or never; STUDENT= for one alone)
	$(BIN)/python -m autograder.grading.book.due "$(UNIT)" "$(DATE)" $(if $(STUDENT),--student "$(STUDENT)")

backup: $(VENV)/.ready-staff ## save in one zip what can't be made again: gradebook, secret, submissions (ARGS=file.zip)
	$(BIN)/python -m autograder.grading.book.backup $(ARGS)

report: $(VENV)/.ready-staff ## write the class report from the last grading
	$(BIN)/python -m autograder.grading.pages.report $(ARGS)

held: $(VENV)/.ready-staff ## list points that wait for a look; give them (ARGS="release student attention.softmax")
	$(BIN)/python -m autograder.grading.pages.waiting $(ARGS)

bench: $(VENV)/.ready-staff ## time the instant checks
	$(BIN)/python -m benchmarks.instant_check

bench-widgets: $(VENV)/.ready-staff ## time key, hover and drag to pixels, and weigh all widgets (ARGS="--times 20 --no-lab")
	$(BIN)/python -m benchmarks.widget_latency $(ARGS)

bench-grading: $(VENV)/.ready-staff ## submissions per minute against stock nbgrader
	$(BIN)/python -m benchmarks.grading_speed $(ARGS)

bench-cheats: $(VENV)/.ready-staff ## the hostile submissions through stock nbgrader and through ours
	$(BIN)/python -m benchmarks.grading_cheats $(ARGS)

bench-naming: $(VENV)/.ready-staff ## how many wrong answers are told a name, or a sentence about themselves
	$(BIN)/python -m benchmarks.naming $(ARGS)

bench-answers: $(VENV)/.ready-staff ## what the check says of answers written from the text alone (ARGS="--set second --unit 06-rope")
	$(BIN)/python -m benchmarks.written_answers $(ARGS)

bench-judge: $(VENV)/.ready-staff ## measure the checks, for the page How the checks are checked (PART=listed UNIT=06-rope; ARGS=--due)
	$(BIN)/python -m benchmarks.judge $(if $(PART),--part $(PART)) $(if $(UNIT),--unit $(UNIT)) --workers $(WORKERS) $(ARGS)

bench-similar: $(VENV)/.ready-staff ## false alarms and finds of the hint on submissions that resemble each other
	$(BIN)/python -m benchmarks.similar_answers $(ARGS)

# A desktop may have a LANGUAGE of its own in the environment; only the one that is typed counts.
site: $(VENV)/.ready-staff ## build the site into build/site/html (LANGUAGE=zh_CN: build/site/zh_CN/html; ARGS="--unit 06-rope" runs one unit)
	$(BIN)/python -m autograder.site $(if $(findstring command,$(origin LANGUAGE)),--language "$(LANGUAGE)") $(ARGS)

site-check: $(VENV)/.ready-staff ## look at the built site in a browser: weights, times, axe, links, keyboard (ARGS=--quick)
	$(BIN)/python -m autograder.site.checks $(ARGS)

lock: $(VENV)/.ready-staff ## write the lock files from this environment
	$(BIN)/python -m autograder.build.lock

system-packages: ## Debian packages that some tests need (browser, sandbox, database); needs root
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	  chromium-headless-shell bubblewrap postgresql fonts-dejavu-core fonts-wqy-microhei > /dev/null
