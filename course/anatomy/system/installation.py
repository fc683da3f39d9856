"""How this copy of the course was installed: where its data and notebooks are, and what its commands are called.

There are three kinds. A *project* is a checkout with everything in it, a *package* the zip that instructors hand out,
a *wheel* what pip, pipx or uv installed. This module words everything that learners read about commands and missing
files.
"""

import importlib.metadata
import json
import os
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import files, translation
from .translation import ENGLISH, N_, _, listed, sentences

FIRST = "00-start-here"
WORK = "work"  # the learner's folder within a course folder
NAME = "transformer-anatomy"  # of the distribution, and of the folder for the notebooks of a wheel
_HERE = Path(__file__).resolve().parents[1]
DATA = _HERE / "_data"  # only in a wheel: assets/, notebooks/ and languages/


@dataclass(frozen=True)
class Place:
    """A learner's folder and the release that belongs to it.

    released: folder of the notebooks as they were released. own: the learner's folder. root: the course folder that a
    newer release is written into; None if new releases come with the installed package. language: of the release.
    """

    released: Path
    own: Path
    root: Path | None
    language: str = ENGLISH

    @property
    def is_built(self) -> bool:
        """True if the release is made by ``make build LANG=…``, in a checkout and in another language than English."""
        return self.root is not None and self.released != self.root / "course"

    def name(self, path: Path) -> str:
        """A path of either folder, as short as the learner knows it."""
        if path.is_relative_to(self.own.parent):
            return path.relative_to(self.own.parent).as_posix()
        if not path.is_relative_to(self.released):
            return str(path)
        inner = path.relative_to(self.released).as_posix()
        return f"{self._folder()}/{inner}" if self.root else _("the installed {file}").format(file=inner)

    def released_name(self, unit: str) -> str:
        """The name of a unit's released notebook in sentences."""
        return f"{self._folder()}/{unit}" if self.root else _("the installed notebook of {unit}").format(unit=unit)

    def _folder(self):
        root = self.root or self.released
        return self.released.relative_to(root).as_posix() if self.released.is_relative_to(root) else str(self.released)


def place_in(root: Path, own: Path | None = None, language: str = "") -> Place:
    """The Place of a course folder, a checkout or an unpacked zip. own: the learner's folder, if not ``work/``.

    language: of the notebooks; "" for that of the learner's own, or if there are none that of ``course/``, which is
    English but in a package for a class in another language.
    """
    at_home = language_of(root / "course")
    if own is None:
        names = [language] if language else [at_home, *translation.languages()]
        usual = [root / (WORK if name == at_home else named(WORK, name)) for name in names]
        own = next(filter(is_learners, usual), usual[0])
    spoken = language or _language_named(own) or at_home
    built = root / "build" / spoken / "course"
    # A package has one language. Notebooks that were begun in another are brought into it by the next update.
    here = spoken == at_home or not language and not built.is_dir() and not (root / "autograder").is_dir()
    return Place(root / "course", own, root, at_home) if here else Place(built, own, root, spoken)


def named(folder: str, language: str) -> str:
    """The usual name of a learner's folder in a language: ``work``, ``work-zh_CN``."""
    return folder if language == ENGLISH else f"{folder}-{language}"


def languages() -> list[str]:
    """Languages whose notebooks this installation has, or can make."""
    what, root = kind(), course_root()
    if what == "project":
        return translation.languages()
    there = (DATA / "languages").glob(f"*/{FIRST}") if root is None else (root / "build").glob(f"*/course/{FIRST}")
    found = {path.parents[0 if root is None else 1].name for path in there}
    found.add(ENGLISH if root is None else language_of(root / "course"))
    return [name for name in translation.languages() if name in found]


def unknown(language: str) -> str:
    """One sentence if there are no notebooks in a language, else ""."""
    if language in languages():
        return ""
    return _("There are no notebooks in {language!r}. Languages: {names}.").format(
        language=language, names=listed(languages())
    )


def kind() -> str:
    """``"project"``, ``"package"`` or ``"wheel"``."""
    root = course_root()
    return N_("wheel") if root is None else N_("project") if (root / "autograder").is_dir() else N_("package")


def course_root() -> Path | None:
    """The course folder: the current one if it is one, else the one that contains this package; None for a wheel.

    A wheel does not use a course folder that it is started in: notebooks and recordings have to be of one release.
    """
    around = _HERE.parents[1]
    if not (around / "course" / FIRST).is_dir():
        return None
    here = Path.cwd()
    return here if (here / "course" / FIRST).is_dir() else around


def place(own: Path | None = None, language: str = "") -> Place:
    """The folders of this installation. own: the learner's folder, if they name one.

    language: of the notebooks, if they name one; otherwise that of the notebooks in the folder.
    """
    root = course_root()
    if own is not None:
        own = own.expanduser().absolute()
    if root is not None:
        return place_in(root, own, language)
    if own is None:
        own = _usual_folder(language)
    language = language or language_of(own)
    released = DATA / "notebooks" if language == ENGLISH else DATA / "languages" / language
    return Place(released, own, None, language)


def assets() -> Path:
    """The folder ``assets/``: where ANATOMY_ASSETS says, beside ``course/``, or in the wheel.

    The checkout comes first, so that developers of the course never read an older copy.
    """
    given = os.environ.get("ANATOMY_ASSETS")
    if given:
        return Path(given)
    beside = _HERE.parents[1] / "assets"
    return DATA / "assets" if not (beside / "recordings").is_dir() and (DATA / "assets").is_dir() else beside


def answers() -> Path | None:
    """The file with the whole answers that a learner may look up; None in a class's package, which is made without."""
    root = course_root()
    places = [assets() / "answers.json", *([root / "solutions" / "answers.json"] if root else [])]
    return next((path for path in places if path.is_file()), None)


# ---- the learner's folder of a wheel -------------------------------------------------------------------------


def is_learners(folder: Path) -> bool:
    """Whether a folder holds a learner's notebooks."""
    return (folder / FIRST / f"{FIRST}.ipynb").is_file()


def language_of(own: Path) -> str:
    """The language of a learner's notebooks, according to the first one that can be read; English if it names none."""
    return _language_named(own) or ENGLISH


def _language_named(own: Path) -> str:
    """The same; "" if there is no notebook that can be read."""
    for path in sorted(own.glob("[0-9]*/*.ipynb")):
        try:
            return next(filter(None, map(translation.spoken_by, _code(path))), ENGLISH)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue  # damaged: try the next one
    return ""


def _code(path: Path) -> Iterator[str]:
    for cell in json.loads(files.read(path))["cells"]:
        if cell.get("cell_type") == "code":
            yield "".join(cell.get("source", ""))


def _usual_folder(language: str) -> Path:
    """The first that holds notebooks: the current folder, one below it, the last one used; else a new one below.

    language: that of the notebooks, "" for any.
    """
    here, last = Path.cwd(), _last_used()
    below = [here / named(NAME, name) for name in ([language] if language else translation.languages())]
    if last in below:
        below.insert(0, last)
    known = [here, *below, *([last] if last else [])]
    fits = (f for f in known if is_learners(f) and (f in below or language in ("", language_of(f))))
    return next(fits, here / named(NAME, language or ENGLISH))


def _note() -> Path:
    from .store import home  # here, so that `anatomy doctor` runs even if filelock is missing

    return home() / "folder.txt"


def _last_used():
    try:
        text = _note().read_text(encoding="utf-8").strip()
    except (OSError, ValueError, ImportError):
        return None
    return Path(text) if text else None


def remember(own: Path) -> None:
    """Remembers which folder was used, so that later commands find it from anywhere."""
    try:
        files.replace(_note(), f"{own}\n".encode())
    except (OSError, UnicodeEncodeError):
        pass  # then the learner names the folder again


def foreign(place: Place) -> str:
    """One sentence if a folder cannot be the learner's: a file, the release itself, or full of other things."""
    own = place.own
    if not (place.released / FIRST).is_dir() if place.language != ENGLISH else not place.released.is_dir():
        if kind() == "project" and place.language in translation.languages():
            made = _("There are no notebooks in this language yet: `make build LANG={language}` makes them.")
            return made.format(language=place.language)
        if place.language != ENGLISH:
            return unknown(place.language)
        return sentences(_("This installation holds no notebooks."), how_to_repair())
    if own.exists() and not own.is_dir():
        return _("{folder} is a file, and your notebooks need a folder.").format(folder=own)
    if Path(os.path.realpath(own)).is_relative_to(os.path.realpath(place.released)):  # works for a link to itself, too
        said = _("{folder} holds the notebooks as they were released. Your own need another folder.")
        return said.format(folder=own)
    entries = [path.name for path in own.iterdir() if not path.name.startswith(".")] if own.is_dir() else []
    units = {path.name for path in place.released.iterdir()}
    if entries and not units & set(entries):
        return _(
            "{folder} holds other things and no notebook of the course. Name a folder that is new or empty, "
            "such as {other}."
        ).format(folder=own, other=own / NAME)
    return ""


def of_another_language(place: Place) -> str:
    """One sentence if a learner's notebooks are in a different language from the one they asked for, else ""."""
    if not is_learners(place.own) or language_of(place.own) == place.language:
        return ""
    by = "anatomy" if place.root is None else f"{_python()} -m anatomy"
    return _(
        "The notebooks in {folder} are in another language ({there}). `{command}` brings them into {language} and "
        "keeps your answers; to have both, name another folder."
    ).format(
        folder=place.own,
        there=language_of(place.own),
        language=place.language,
        command=f'{by} update --language {place.language} "{place.own}"',
    )


def _python():
    return f'"{sys.executable}"' if " " in sys.executable else sys.executable


# ---- words ---------------------------------------------------------------------------------------------------


def command(name: str) -> str:
    """How a learner types a command here: ``"`make lab`"`` or ``"`anatomy lab`"``."""
    return f"`{'anatomy' if course_root() is None else 'make'} {name}`"


def installer() -> str:
    """The program that manages the environment of this Python: ``"pipx"``, ``"uv"`` or ``"pip"``."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return "pipx"
    return "uv" if (prefix / "uv-receipt.toml").exists() else "pip"


def given_to_pip() -> str:
    """The source of this wheel for pip: the name of the distribution, or the path of a local file."""
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
    """The command with which pip installs something into this very environment, ready to be typed."""
    by = installer()
    if by == "pipx":
        return f"`pipx runpip {NAME} install {words}`"
    if by == "uv":
        return f'`uv pip install --python "{sys.executable}" {words}`'
    return f"`{_python()} -m pip install {words}`"


def how_to_install(package: str) -> str:
    """Advice on a missing Python package, as the end of a line."""
    if kind() == "wheel":
        return _("run {command}").format(command=pip_install(package))
    return _("run `make lab` in the course folder")


def how_to_repair(made_by: str = "") -> str:
    """One sentence on how to restore a file of the course that is missing or damaged.

    made_by: the command that makes the file in a checkout of the whole project, if there is one.
    """
    what = kind()
    if what == "project":
        if made_by:
            return _("Run `{command}`, or `git checkout assets` puts it back.").format(command=made_by)
        return _("`git checkout assets` puts it back.")
    if what == "package":
        return _("In a student package, unpack the zip again; your own notebooks are elsewhere.")
    given = given_to_pip()
    again = {
        "pipx": f"`pipx reinstall {NAME}`",
        "uv": f"`uv tool install --reinstall {given}`",
        "pip": pip_install(f"--force-reinstall --no-deps {given}"),
    }
    said = _("Install the course again: {command}. Your own notebooks are elsewhere.")
    return said.format(command=again[installer()])


def how_to_get_newer() -> str:
    """One sentence on how a learner gets a newer release than this one."""
    if kind() != "wheel":
        return _("To take a newer one: make update FROM=path-to-the-zip")
    by_name = given_to_pip() == NAME  # else the next file comes from where this one came from
    newer = {
        "pipx": f"`pipx upgrade {NAME}`" if by_name else "`pipx install --force path-to-the-newer.whl`",
        "uv": f"`uv tool upgrade {NAME}`" if by_name else "`uv tool install path-to-the-newer.whl`",
        "pip": pip_install(f"--upgrade {NAME}" if by_name else "path-to-the-newer.whl"),
    }
    said = _("A newer release comes with {command}; then run `anatomy update` again.")
    return said.format(command=newer[installer()])


def how_to_restore(where: Place, unit: str) -> str:
    """One sentence on how a learner gets a released notebook back."""
    if where.root is None:
        return how_to_repair()
    if where.is_built:
        return _("To put the release back: `make build LANG={language}`.").format(language=where.language)
    if (where.root / ".git").exists():
        return _("To put the release back: `git checkout course/{unit}`, then `make update`.").format(unit=unit)
    return _("To put the release back: `make update FROM=path-to-the-student-zip`.")
