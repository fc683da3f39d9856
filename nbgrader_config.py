"""nbgrader on this repository: ``solutions/`` is its source side, ``release/`` its release side.

``nbgrader generate_assignment``, ``autograde``, ``generate_feedback``, ``export``, ``validate`` and the formgrader
work from the repository's root. Three things differ from stock: stubs name their exercise, submissions are rebuilt
from the trusted notebook before they run, and scores come from the judge outside the student's process.
"""

from autograder.grading.base.environment import find_alembic, sandbox_kernel
from autograder.grading.intake.stamps import careful

find_alembic()
careful()  # time stamps of submissions are read, but never followed, waited for or believed
c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "transformer-anatomy"
c.CourseDirectory.source_directory = "solutions"
# Not course/, where `make build` writes the same notebooks: `generate_assignment --force` deletes what is there.
c.CourseDirectory.release_directory = "release"
# PostgreSQL for a class with several graders: "postgresql+psycopg2://user:password@host/database".
# c.CourseDirectory.db_url = "sqlite:///gradebook.db"

# What is the course's own to set; docs/instructors.md says what each does. Write such lines into class_settings.py,
# beside this file, which is read last: a new release brings its own nbgrader_config.py, and has no class_settings.py.
# c.Class.language = "zh_CN"
# c.Grading.attempts = "best"
# c.Grading.follow_through = True
# c.Grading.written_answers = True
# c.Grading.extensions = "capped"
# c.Course.units = ["00-start-here", "01-attention"]
# c.Course.points = {"attention.softmax": 3, "attention.padding_mask": 0}
# c.Release.answers = "none"
# c.AssignLatePenalties.plugin_class = "autograder.grading.book.late.PerDay"
# c.PerDay.percent = 10

release, steps = "autograder.notebooks.release", "autograder.grading.nbgrader.steps"
c.GenerateAssignment.preprocessors = [
    "autograder.languages.notebooks.InLanguage",
    "nbgrader.preprocessors.LockCells",
    f"{release}.NamedStub",
    f"{release}.WrittenPoints",
    f"{release}.OwnPoints",
    "nbgrader.preprocessors.ClearOutput",
    f"{release}.ForgetAuthorNotes",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
    f"{release}.Fingerprint",
]
c.Autograde.exporter_class = f"{steps}.SubmissionExporter"
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.CheckCellMetadata"]
c.Autograde.autograde_preprocessors = [
    f"{steps}.JudgedExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    f"{steps}.RecordVerdicts",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# To run submissions without a sandbox (see `python -m autograder.grading --no-sandbox` for what that gives up):
# c.JudgedExecute.sandbox = False

# Stock follows links in what students put into the exchange, and stops the class at an odd name.
c.ExchangeFactory.collect = "autograder.grading.nbgrader.exchange.CarefulCollect"
c.ExchangeFactory.list = "autograder.grading.nbgrader.exchange.CarefulList"

# `nbgrader export` would otherwise overwrite what `make grade` writes. Under the class that `--to` is an alias
# of: what stands under CsvExportPlugin would win over the command line.
c.ExportPlugin.to = "gradebook.csv"

# Only the page is written; the files beside a notebook, which a link may have brought there, stay where they are.
c.GenerateFeedback.exporter_class = f"{steps}.FeedbackExporter"
# A student's output may hold a script, or TeX with a link: feedback pages and the formgrader show it as text.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.preprocessors = [f"{steps}.InertOutputs", "autograder.grading.pages.rubric.ShowRubric"]
# Stock gives full marks to a check cell that a student tagged "skip-execution".
c.ExecutePreprocessor.skip_cells_with_tag = "never-used-by-a-cell"
# A cell that still prints when its time is up gets that as its error, instead of a traceback of nbgrader's.
c.Execute.raise_on_iopub_timeout = False
if sandbox_kernel():  # `make validate-sandbox` installs it; Validate then runs in it
    c.ExecutePreprocessor.kernel_name = sandbox_kernel()

load_subconfig("class_settings.py")  # noqa: F821
