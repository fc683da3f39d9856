"""How this copy of the course was installed: where its data and notebooks lie, and what its commands are called.

There are three kinds. A *project* is a checkout with everything in it, a *package* the zip that instructors hand out,
a *wheel* what pip, pipx or uv installed. Whatever a learner reads about commands or about missing files is worded here.
"""

import importlib.metadata
import json
import os
import sys
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from . import files

FIRST = "00-start-here"
WORK = "work"  # the learner's folder within a course folder
NAME = "transformer-anatomy"  # of the distribution, and of the folder that a wheel puts notebooks into
_HERE = Path(__file__).resolve().parent
DATA = _HERE / "_data"  # in a wheel alone: assets/ and notebooks/


@dataclass(frozen=True)
class Place:
    """A learner's folder and the release that belongs to it.

    released: folder of the notebooks as they were released. own: the learner's folder. root: the course folder that a
    newer release is written into; None where whatever installed the package brings releases.
    """

    released: Path
    own: Path
    root: Path | None

    def name(self, path: Path) -> str:
        """A path of either folder, as short as the learner knows it."""
        for folder, shown in ((self.own.parent, ""), (self.released, "course/" if self.root else "the installed ")):
            if path.is_relative_to(folder):
                return shown + path.relative_to(folder).as_posix()
        return str(path)

    def released_name(self, unit: str) -> str:
        """What the released notebook of a unit is called in sentences."""
        return f"course/{unit}" if self.root else f"the installed notebook of {unit}"


def place_in(root: Path, own: Path | None = None) -> Place:
    """The Place of a course folder, a checkout or an unpacked zip. own: the learner's folder, if not ``work/``."""
    return Place(root / "course", root / WORK if own is None else own, root)


def kind() -> str:
    """``"project"``, ``"package"`` or ``"wheel"``."""
    root = course_root()
    return "wheel" if root is None else "project" if (root / "autograder").is_dir() else "package"


def course_root() -> Path | None:
    """The course folder: the current one if it is one, else the one that this package lies in; None for a wheel.

    A wheel uses none that it happens to stand in: notebooks and recordings have to be of one release.
    """
    around = _HERE.parents[1]
    if not (around / "course" / FIRST).is_dir():
        return None
    here = Path.cwd()
    return here if (here / "course" / FIRST).is_dir() else around


def place(own: Path | None = None) -> Place:
    """Where this installation's notebooks lie. own: the learner's folder, where they name one."""
    root = course_root()
    if own is not None:
        own = own.expanduser().absolute()
    if root is not None:
        return place_in(root, own)
    return Place(DATA / "notebooks", _usual_folder() if own is None else own, None)


def assets() -> Path:
    """The folder ``assets/``: where ANATOMY_ASSETS says, beside ``course/``, or in the wheel.

    The checkout comes first, so that whoever works on the course never reads an older copy.
    """
    given = os.environ.get("ANATOMY_ASSETS")
    if given:
        return Path(given)
    beside = _HERE.parents[1] / "assets"
    return DATA / "assets" if not (beside / "recordings").is_dir() and (DATA / "assets").is_dir() else beside


# ---- the learner's folder of a wheel -------------------------------------------------------------------------


def is_learners(folder: Path) -> bool:
    """Whether a folder holds a learner's notebooks."""
    return (folder / FIRST / f"{FIRST}.ipynb").is_file()


def _usual_folder():
    """The current folder or the one below it, where notebooks are there; else the one that was used last."""
    here = Path.cwd()
    last = _last_used()
    known = [here, here / NAME, *([last] if last else [])]
    return next((folder for folder in known if is_learners(folder)), here / NAME)


def _note() -> Path:
    from .store import home  # here, so that `anatomy doctor` runs where the lock's package is missing

    return home() / "folder.txt"


def _last_used():
    try:
        text = _note().read_text(encoding="utf-8").strip()
    except (OSError, ValueError, ImportError):
        return None
    return Path(text) if text else None


def remember(own: Path) -> None:
    """Keeps in mind which folder was used, so that later commands find it from anywhere."""
    try:
        files.replace(_note(), f"{own}\n".encode())
    except (OSError, UnicodeEncodeError):
        pass  # then the learner names the folder again


def foreign(place: Place) -> str:
    """One sentence where the learner's folder cannot be one: a file, the release itself, or full of other things."""
    own = place.own
    if not place.released.is_dir():
        return f"This installation holds no notebooks. {how_to_repair()}"
    if own.exists() and not own.is_dir():
        return f"{own} is a file, and your notebooks need a folder."
    if own.resolve().is_relative_to(place.released.resolve()):
        return f"{own} holds the notebooks as they were released. Your own need another folder."
    entries = [path.name for path in own.iterdir() if not path.name.startswith(".")] if own.is_dir() else []
    units = {path.name for path in place.released.iterdir()}
    if entries and not units & set(entries):
        return (
            f"{own} holds other things and no notebook of the course. Name a folder that is new or empty, "
            f"such as {own / NAME}."
        )
    return ""


# ---- words ---------------------------------------------------------------------------------------------------


def command(name: str) -> str:
    """How a learner types a command here: ``"`make lab`"`` or ``"`anatomy lab`"``."""
    return f"`{'anatomy' if course_root() is None else 'make'} {name}`"


def installer() -> str:
    """What manages the environment of this Python: ``"pipx"``, ``"uv"`` or ``"pip"``."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return "pipx"
    return "uv" if (prefix / "uv-receipt.toml").exists() else "pip"


def given_to_pip() -> str:
    """What this wheel was installed from: the name of the distribution, or the path of a file that lay on the disk."""
    try:
        noted = importlib.metadata.distribution(NAME).read_text("direct_url.json")
        url = urllib.parse.urlsplit(json.loads(noted or "{}").get("url", ""))
    except (importlib.metadata.PackageNotFoundError, OSError, ValueError):
        return NAME
    if url.scheme != "file" or not url.path.endswith(".whl"):
        return NAME
    path = urllib.request.url2pathname(url.path)
    return f'"{path}"' if " " in path else path


def pip_install(words: str) -> str:
    """The command that has pip install something into this very environment, ready to be typed."""
    by = installer()
    if by == "pipx":
        return f"`pipx runpip {NAME} install {words}`"
    if by == "uv":
        return f'`uv pip install --python "{sys.executable}" {words}`'
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return f"`{python} -m pip install {words}`"


def how_to_install(package: str) -> str:
    """What to do about a Python package that is missing, as the end of a line."""
    return f"run {pip_install(package)}" if kind() == "wheel" else "run `make lab` in the course folder"


def how_to_repair(made_by: str = "") -> str:
    """One sentence: what brings back a file of the course that is missing or damaged.

    made_by: the command that makes it where the whole project is, if one does.
    """
    what = kind()
    if what == "project":
        back = "`git checkout assets` puts it back."
        return f"Run `{made_by}`, or {back}" if made_by else back
    if what == "package":
        return "In a student package, unpack the zip again; your own notebooks are elsewhere."
    given = given_to_pip()
    again = {
        "pipx": f"`pipx reinstall {NAME}`",
        "uv": f"`uv tool install --reinstall {given}`",
        "pip": pip_install(f"--force-reinstall --no-deps {given}"),
    }
    return f"Install the course again: {again[installer()]}. Your own notebooks are elsewhere."


def how_to_get_newer() -> str:
    """One sentence: how a newer release comes to a learner who has this one."""
    if kind() != "wheel":
        return "To take a newer one: make update FROM=path-to-the-zip"
    by_name = given_to_pip() == NAME  # else whoever handed out a file hands out the next one
    newer = {
        "pipx": f"`pipx upgrade {NAME}`" if by_name else "`pipx install --force path-to-the-newer.whl`",
        "uv": f"`uv tool upgrade {NAME}`" if by_name else "`uv tool install path-to-the-newer.whl`",
        "pip": pip_install(f"--upgrade {NAME}" if by_name else "path-to-the-newer.whl"),
    }
    return f"A newer release comes with {newer[installer()]}; then run `anatomy update` again."


def how_to_restore(where: Place, unit: str) -> str:
    """One sentence: how a learner gets a released notebook back."""
    if where.root is None:
        return how_to_repair()
    if (where.root / ".git").exists():
        return f"To put the release back: `git checkout course/{unit}`, then `make update`."
    return "To put the release back: `make update FROM=path-to-the-student-zip`."
