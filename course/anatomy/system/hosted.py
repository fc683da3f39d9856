"""The course on other machines: on which platform a notebook runs, and what that platform needs and loses.

The first cell of each notebook (``autograder/notebooks/first_cell.py``) calls ``settle`` on Colab and on Kaggle, where
a machine is lent for some hours. Everywhere else this module only answers questions.
"""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import quote

from .translation import _, listed, sentences

Place = Literal["colab", "kaggle", "binder", "codespaces", "vscode", "jupyterhub", "home"]
PLACES: tuple[Place, ...] = get_args(Place)
LENT: tuple[Place, ...] = ("colab", "kaggle", "binder")  # what is written there vanishes with the machine

# Modules that the course imports → their names for pip. torch is not among them: these places have their own, built
# for their hardware, and everything else there depends on it. --no-deps for the same reason, so the dependencies of
# these packages are listed here too.
NEEDED = {
    "anywidget": "anywidget",
    "psygnal": "psygnal",
    "comm": "comm",
    "ipywidgets": "ipywidgets",
    "safetensors": "safetensors",
    "filelock": "filelock",
    "sympy": "sympy",
    "mpmath": "mpmath",
    "tokenizers": "tokenizers",
    "huggingface_hub": "huggingface-hub",
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "traitlets": "traitlets",
}
DRIVE = Path("/content/drive")  # where Google's own examples mount it
FOLDER = "transformer-anatomy"
_ADDRESS = Path(__file__).parents[1] / "address.json"
_KEPT = ("progress", "predictions", "quizzes", "claims", "drills")  # the files of ``store``


class CannotRun(SystemExit):
    """Something is missing here; the message says what to do. IPython shows it without a traceback, and stops."""


def place() -> Place:
    """Where this notebook runs, by what each place is known to set in its kernels.

    Kaggle is tested before Colab, on whose image it builds, and Binder before JupyterHub, on which it is based.
    """
    env = os.environ
    if "KAGGLE_KERNEL_RUN_TYPE" in env:  # kagglehub/env.py; Interactive or Batch
        return "kaggle"
    if "COLAB_RELEASE_TAG" in env or "google.colab" in sys.modules:  # kagglehub/env.py; Colab's kernel imports itself
        return "colab"
    if "BINDER_REPO_URL" in env or "BINDER_SERVICE_HOST" in env:  # binderhub #1010; Kubernetes' name for its service
        return "binder"
    if env.get("CODESPACES") == "true":  # GitHub's "default environment variables for your codespace"
        return "codespaces"
    if "VSCODE_PID" in env or "VSCODE_CWD" in env:  # vscode-jupyter #3364; in containers the second alone: panel #5200
        return "vscode"
    if "JUPYTERHUB_USER" in env:  # jupyterhub.spawner.Spawner.get_env
        return "jupyterhub"
    return "home"


def read_address() -> dict[str, str]:
    """``repository`` (or ""), ``branch`` and ``version``, as the build wrote them beside this file."""
    return json.loads(_ADDRESS.read_text(encoding="utf-8"))


@cache
def _loaded() -> dict[str, str]:
    """The address of the package that this kernel has loaded; a newer one may have replaced it on disk."""
    return read_address()


_loaded()


def has_links() -> bool:
    """Whether a relative link in an output leads to a notebook; Colab and Kaggle show one notebook at a time."""
    return place() not in ("colab", "kaggle")


def unit_address(unit: str) -> str:
    """Address that opens a unit's notebook in this place, in a new tab; "" if there is none."""
    known = _loaded()
    if not known["repository"]:
        return ""
    file = f"{known['branch']}/course/{unit}/{unit}.ipynb"
    if place() == "kaggle":
        source = quote(f"{known['repository']}/blob/{file}", safe=":/")
        return f"https://www.kaggle.com/kernels/welcome?src={source}"
    owner_and_name = known["repository"].removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{owner_and_name}/blob/{file}"


def settle(unit: str, version: str, keep_in_drive: bool = True) -> None:
    """Prepares a lent machine for a unit, and says where the learner's work is kept.

    version: the release of the notebook. keep_in_drive: on Colab, whether progress goes to the learner's Drive.

    Raises CannotRun with one sentence that says what to do.
    """
    here = place()
    if here not in ("colab", "kaggle"):
        return
    _same_version(version)
    _bring_what_is_missing()
    if here == "colab":
        from google.colab import output  # type: ignore[import-not-found]

        output.enable_custom_widget_manager()  # else Colab shows only the widgets that it knows
        kept = _progress_in_drive() if keep_in_drive else False
    else:
        kept = _progress_in_working_folder()
    print(sentences(_("Version {version} is ready.").format(version=version), where_work_is(unit, kept)))


def _same_version(wanted: str) -> None:
    if _loaded()["version"] == wanted:
        return
    if read_address()["version"] == wanted:
        menu = "Run, Restart session" if place() == "kaggle" else "Runtime, Restart session"
        said = _("Another version of the course was in use. Choose {menu}, then run this cell again.")
        raise CannotRun(said.format(menu=menu))
    said = _(
        "This notebook is of version {wanted} of the course, and version {installed} is installed. Take both from the "
        "same place: the newer notebook, or the newer file of the course."
    )
    raise CannotRun(said.format(wanted=wanted, installed=_loaded()["version"]))


def missing() -> list[str]:
    """The packages that pip has to install for the course to run, torch aside."""
    return [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]


def _bring_what_is_missing() -> None:
    if importlib.util.find_spec("torch") is None:
        raise CannotRun(_("PyTorch is missing here. Both Colab and Kaggle bring it: start a new session."))
    wanted = missing()
    if not wanted:
        return
    # --no-deps: a resolver might replace torch with a build that the machine's driver cannot run.
    line = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--retries", "1", *wanted]
    done = subprocess.run(line, capture_output=True, text=True)
    importlib.invalidate_caches()
    if done.returncode:
        said = _("{packages} could not be installed.").format(packages=listed(wanted))
        raise CannotRun(sentences(said, _no_network()))


def _no_network() -> str:
    if place() == "kaggle":
        return _(
            "Switch the network on (Settings, Turn on internet; Kaggle asks for a phone number once), and try again."
        )
    return _("Is there a network? Run this cell again.")


def _progress_in_drive() -> bool:
    """Keeps progress in the learner's Drive; returns False if the Drive cannot be connected."""
    from google.colab import drive

    if os.environ.get("ANATOMY_HOME"):
        return True  # the learner chose a place
    try:
        drive.mount(str(DRIVE))
    except Exception as error:  # Google's own classes; a learner who closes its window is one cause
        print(_("Your Drive was not connected ({error}).").format(error=type(error).__name__))
        return False
    mine = DRIVE / "MyDrive"
    _keep_progress_in(mine / FOLDER / "progress")
    if (mine / "Colab Notebooks").is_dir():  # where "Save a copy in Drive" puts notebooks: later units read them
        os.environ.setdefault("ANATOMY_NOTEBOOKS", str(mine / "Colab Notebooks"))
    return True


def _progress_in_working_folder() -> bool:
    """Keeps progress in Kaggle's working folder, the one that a session can hand on to the next."""
    if not os.environ.get("ANATOMY_HOME"):
        _keep_progress_in(Path(os.environ.get("KAGGLE_WORKING_DIR") or "/kaggle/working") / FOLDER)
    return True


def _keep_progress_in(folder: Path) -> None:
    """Moves progress to a folder: adds what this machine has recorded; entries in the folder stay as they are."""
    from . import store

    recorded = {name: store.read(name) for name in _KEPT}
    os.environ["ANATOMY_HOME"] = str(folder)
    for name, entries in recorded.items():
        if entries:
            store.update(name, lambda data, entries=entries: data.update({**entries, **data}))  # type: ignore[misc]


def where_work_is(unit: str = "", kept: bool | None = None) -> str:
    """Where the learner's work is kept in this place, what is lost and how to hand in; "" at home.

    unit: names its file; without one the sentence gives an example. kept: whether progress outlives the machine; None
    to find out.
    """
    here, name = place(), f"{unit}.ipynb" if unit else _("06-rope.ipynb, for example")
    if here == "colab":
        if kept is None:
            kept = bool(os.environ.get("ANATOMY_HOME"))
        lies = (
            _("Progress is kept in your Drive.")
            if kept
            else _("Progress vanishes with this machine: to keep it, tick keep_in_drive in the first cell.")
        )
        answers = _(
            "Your answers are kept in a copy of the notebook (File, Save a copy in Drive; call it {name}). "
            "To hand in: File, Download, Download .ipynb."
        )
        return sentences(lies, answers.format(name=name))
    if here == "kaggle":
        return _(
            "Kaggle keeps the notebook itself. Progress outlives the session only with Session options, Persistence, "
            "Files only. A saved version shows pictures where widgets were. To hand in: File, Download notebook; call "
            "it {name}."
        ).format(name=name)
    if here == "binder":
        return _(
            "This machine is deleted some minutes after you leave, with answers and progress. To keep or hand in a "
            "notebook: File, Download."
        )
    if here == "codespaces":
        return _(
            "Answers and progress stay in this codespace, until GitHub deletes it: it writes to you before it does."
        )
    return ""
