"""The files that a score depends on are found by imports: changing the judge means grading again, a widget doesn't."""

import pytest

from autograder import ROOT
from autograder.exercises import spec_modules
from autograder.grading.base import masters
from autograder.grading.base.masters import gradable_units, imported, master, scoring_files

# Kept by hand before imports were followed; none of it may be lost.
BY_HAND = [
    "autograder/judge/*.py",
    "autograder/grading/intake/rebuild.py",
    "autograder/grading/judging/execution.py",
    "autograder/grading/judging/grade.py",
    "autograder/grading/source/signs.py",
    "course/anatomy/program/runner.py",
    "course/anatomy/judge/judging.py",
    "course/anatomy/judge/compare.py",
    "course/anatomy/program/codec.py",
    "course/anatomy/judge/diagnosis.py",
    "course/anatomy/program/symbolic.py",
    "course/anatomy/judge/verdict.py",
    "course/anatomy/judge/fingerprint_match.py",
    "course/anatomy/judge/naming.py",
    "course/anatomy/judge/places.py",
    "course/anatomy/judge/relations.py",
    "course/anatomy/judge/wrong_form.py",
    "course/anatomy/program/cost.py",
    "course/anatomy/program/distributions.py",
    "course/anatomy/judge/common_input.py",
    "course/anatomy/judge/error_advice.py",
    "course/anatomy/judge/case_text.py",
]
NO_MATTER = [
    "course/anatomy/__init__.py",
    "course/anatomy/widgets/**/*",
    "course/anatomy/progress/*.py",
    "course/anatomy/notebook/plots.py",
    "course/anatomy/notebook/predictions.py",
    "course/anatomy/notebook/quizzes.py",
    "autograder/grading/pages/report.py",
    "autograder/grading/pages/feedback.py",
    "autograder/grading/workers/engine.py",
    "autograder/grading/book/gradebook.py",
    "autograder/notebooks/source.py",
    "autograder/notebooks/gallery.py",
    "autograder/recording/**/*",
]


def found(patterns):
    files = {pattern: {p for p in ROOT.glob(pattern) if p.suffix == ".py"} for pattern in patterns}
    assert all(files.values()), f"nothing matches {[p for p, f in files.items() if not f]}"
    return set().union(*files.values())


def test_nothing_of_the_list_kept_by_hand_is_lost():
    assert found(BY_HAND) <= scoring_files() | imported(spec_modules("06-rope"))  # what specs are made with counts too


@pytest.mark.parametrize("unit", gradable_units())
def test_what_cannot_change_a_score_does_not_count(unit):
    files = scoring_files() | imported(spec_modules(unit))
    assert not files & found(NO_MATTER)


def test_specs_count_with_their_references():
    files = imported(spec_modules("06-rope"))
    assert ROOT / "autograder/reference/rope.py" in files
    assert ROOT / "autograder/exercises/u06_rope/apply_rope.py" in files


@pytest.fixture
def house(tmp_path):
    """house({path: source}) makes a small repository and returns a function: modules → the files that they import."""

    def build(files):
        for name, source in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        return lambda *modules: {str(p.relative_to(tmp_path)) for p in imported(modules, tmp_path)}

    return build


JUDGE = {
    "autograder/__init__.py": "ROOT = 1\n",
    "autograder/judge/__init__.py": "",
    "autograder/judge/trusted.py": "import torch\nfrom anatomy.judge import judging\n",
    "autograder/judge/fresh.py": "from . import deeper\n",
    "autograder/judge/deeper.py": "",
    "course/anatomy/__init__.py": "from .widgets import Rope\nfrom .judge.judging import judge\n",
    "course/anatomy/widgets.py": "",
    "course/anatomy/judge/__init__.py": "",
    "course/anatomy/judge/judging.py": "from .compare import close\n",
    "course/anatomy/judge/compare.py": "",
}
ALWAYS = {
    "autograder/__init__.py",
    "autograder/judge/__init__.py",
    "autograder/judge/trusted.py",
    "course/anatomy/judge/judging.py",
    "course/anatomy/judge/compare.py",
}
FRESH = {"autograder/judge/fresh.py", "autograder/judge/deeper.py"}


@pytest.mark.parametrize(
    "line, more",
    [
        ("", set()),
        ("from autograder.judge.fresh import name", FRESH),
        ("import autograder.judge.fresh", FRESH),
        ("from .fresh import name", FRESH),
        ("from . import fresh", FRESH),
        ("from ..judge import fresh", FRESH),
        ("def late():\n    from . import fresh", FRESH),
        ("try:\n    from . import fresh\nexcept ImportError:\n    pass", FRESH),
        ("if TYPE_CHECKING:\n    from . import fresh", set()),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    from . import fresh", FRESH),
        ("from anatomy import Rope", {"course/anatomy/__init__.py", "course/anatomy/widgets.py"}),
        ("import autograder.judge.not_there", set()),
    ],
)
def test_a_module_that_the_judge_imports_counts(house, line, more):
    files = house({**JUDGE, "autograder/judge/trusted.py": JUDGE["autograder/judge/trusted.py"] + line + "\n"})
    assert files("autograder.judge.trusted") == ALWAYS | more


def test_the_version_follows_the_files(monkeypatch, tmp_path):
    """A different notebook, spec or judge gives a different version; the same files give the same version."""
    unit, before = gradable_units()[0], master(gradable_units()[0]).version
    again = lambda: masters.Master(unit, None, (), {}, {}).version
    assert again() == before and len(before) == 16
    with monkeypatch.context() as changed:
        changed.setattr(masters, "scoring_files", lambda: scoring_files() | {ROOT / "course/anatomy/notebook/plots.py"})
        assert again() != before
    other = tmp_path / "other.ipynb"
    other.write_text("{}")
    monkeypatch.setattr(masters, "source_notebook_path", lambda unit: other)
    assert again() != before
