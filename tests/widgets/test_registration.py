"""Each widget is registered in all places; if one is missing, a sentence says what to add."""

import re
import tomllib

from anatomy.widgets import REGISTERED

from autograder import ROOT


def names(folder, pattern, of=lambda path: path.parent.name):
    return {of(path) for path in (ROOT / folder).glob(pattern)} - {"tools", "__init__", "__main__"}


def missing():
    """A sentence for each place where a widget is missing. Reads files, so that a broken import hides nothing."""
    shown = set(re.findall(r"^widgets\.(\w+)\(", (ROOT / "solutions" / "gallery.py").read_text(encoding="utf-8"), re.M))
    places = {
        "has no folder: add course/anatomy/widgets/{0}/__init__.py and {0}.js": names(
            "course/anatomy/widgets", "*/__init__.py"
        ),
        "has no story: add course/anatomy/widgets/{0}/story.py with its STORY": names(
            "course/anatomy/widgets", "*/story.py"
        ),
        "is not registered: add `from .{0} import {1} as {1}` to course/anatomy/widgets/__init__.py": set(REGISTERED),
        "has no recorder: add autograder/recording/widgets/{0}.py with its RECORDER": names(
            "autograder/recording/widgets", "*.py", lambda path: path.stem
        ),
        "has no test case: add tests/widgets/{0}/case.py with its CASE": names("tests/widgets", "*/case.py"),
        "is not recorded: run `make record`": names(
            "assets/recordings/widgets", "*.safetensors", lambda path: path.stem
        ),
        "is not in the gallery: add a cell with `widgets.{1}()` to solutions/gallery.py": {
            name for name, kind in REGISTERED.items() if kind.__name__ in shown
        },
    }
    found = [
        f"The widget {name!r} {lacks.format(name, REGISTERED[name].__name__ if name in REGISTERED else '…')}."
        for name in sorted(set.union(*places.values()))
        for lacks, there in places.items()
        if name not in there
    ]
    unknown = shown - {kind.__name__ for kind in REGISTERED.values()}
    return found + [f"solutions/gallery.py shows {kind}, which is not registered." for kind in sorted(unknown)]


def test_every_widget_is_in_all_its_places():
    assert not missing(), "\n" + "\n".join(missing())


def test_there_are_widgets_to_compare():
    assert {"mix", "rope"} <= set(REGISTERED)


def test_a_wheel_takes_every_file_along():
    """Scripts, styles and templates are package data of the folder that contains them."""
    settings = tomllib.loads((ROOT / "course" / "pyproject.toml").read_text(encoding="utf-8"))
    data = settings["tool"]["setuptools"]["package-data"]
    wing = ROOT / "course"
    taken = {
        path
        for start in wing.glob("anatomy/**/__init__.py")
        for pattern in data["*"] + data.get(".".join(start.parent.relative_to(wing).parts), [])
        for path in start.parent.glob(pattern)
    }
    others = {p for p in (wing / "anatomy" / "widgets").rglob("*.*") if p.suffix not in (".py", ".pyc")}
    assert len(others) > 20 and not others - taken
