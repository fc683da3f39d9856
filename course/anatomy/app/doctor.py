"""``anatomy doctor``: is anything wrong with this installation, and what mends it?

It only looks: nothing is changed and nothing is sent anywhere. Libraries are tried in a separate process, so that one
that crashes the process does not silence the rest; ``doctor_folders`` looks at files.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import __version__
from ..system import installation
from ..system.translation import _, listed, ngettext, sentences
from .findings import MARKS, Examination, Finding

OLDEST, NEWEST = (3, 11), (3, 14)  # Python; newer ones may work, but libraries support them late
PATIENCE = 180  # seconds for the libraries' first import, which may compile and be scanned for viruses
SLOW = 4.0  # seconds for products that take a tenth of one on an ordinary laptop
IMPORTS = "torch numpy matplotlib ipywidgets anywidget safetensors tokenizers sympy filelock fsrs".split()
EXTENSIONS = {"anywidget": "anywidget", "@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets"}

_TRIAL = """
import importlib, json, sys, time
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = ["", str(getattr(importlib.import_module(name), "__version__", ""))]
    except BaseException as error:
        found[name] = [f"{type(error).__name__}: {error}", ""]
seconds = None
if not found["torch"][0]:
    import torch
    x = torch.ones(512, 512)
    x @ x
    begin = time.perf_counter()
    for _ in range(8):
        x @ x
    seconds = time.perf_counter() - begin
print("\\n" + json.dumps([found, seconds]))
"""


def python() -> Iterator[Finding]:
    """The version of Python and where it is, and this copy of the course."""
    here = _("Python {version} on {system}").format(version=platform.python_version(), system=platform.system())
    version = sys.version_info[:2]
    if version < OLDEST:
        old = _("{here}: the course needs 3.11 or newer. Install one from python.org, and begin again.")
        yield Finding("wrong", old.format(here=here))
    elif version > NEWEST:
        new = _("{here}: newer than what the course is made for (3.11 to 3.14).")
        yield Finding("note", new.format(here=here))
    else:
        yield Finding("good", _("{here}, {program}").format(here=here, program=sys.executable))
    if sys.maxsize < 2**32:
        bits = _("This Python has 32 bits, and PyTorch needs 64: install the 64-bit one from python.org.")
        yield Finding("wrong", bits)
    yield from _this_copy()


def _this_copy():
    course = f"Transformer Anatomy {__version__}", _(installation.kind()), Path(__file__).parents[1]
    yield Finding("good", listed(course))
    if installation.answers():
        yield Finding("good", _("Whole answers are here, for learners by themselves: `show_answer` in a notebook"))
    else:
        yield Finding("good", _("Made for a class: no whole answers are here"))
    try:
        there = importlib.metadata.version(installation.NAME)
    except importlib.metadata.PackageNotFoundError:
        return  # found by its path, as in Colab
    if there != __version__ and installation.kind() == "wheel":
        yield Finding(
            "wrong",
            sentences(
                _("This Python lists release {listed} and finds {found}: two copies are in each other's way.").format(
                    listed=there, found=__version__
                ),
                installation.how_to_repair(),
            ),
        )


def libraries() -> Iterator[Finding]:
    """Can the libraries be imported, are they new enough, and does torch compute?"""
    done, said = _try_imports()
    if done is None:
        broke = _("Trying the libraries broke Python ({error}).").format(error=said)
        yield Finding("wrong", sentences(broke, _about("torch", said)))
        return
    found, seconds = done
    floors = _floors()
    for name, (problem, version) in found.items():
        if problem:
            why = _("{name} cannot be imported ({error}).").format(name=name, error=problem)
            yield Finding("wrong", sentences(why, _about(name, problem)))
        elif _is_older(version, floors.get(name, "")):
            upgrade = installation.pip_install(f'--upgrade "{name}>={floors[name]}"')
            old = _("{name} {version} is older than {oldest}, which the course needs: {command}")
            yield Finding("wrong", old.format(name=name, version=version, oldest=floors[name], command=upgrade))
    fine = [f"{name} {version}".strip() for name, (problem, version) in found.items() if not problem]
    if fine:
        yield Finding("good", listed(fine))
    if seconds is not None and seconds > SLOW:
        yield Finding(
            "note",
            _(
                "torch computes slowly: {seconds:.0f} s for what takes a tenth of one. Close other programs, plug the "
                "computer in; on a shared server ask for another core."
            ).format(seconds=seconds),
        )


def _try_imports():
    """((name → [problem, version], seconds of torch or None), ""), or (None, the error message)."""
    # Not from the current folder: a learner's torch.py there would be imported instead of the library.
    line = [sys.executable, "-c", _TRIAL, *IMPORTS]
    env = {**os.environ, "PYTHONSAFEPATH": "1"}
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, errors="replace", timeout=PATIENCE, env=env, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return None, _("it took more than {n} s").format(n=PATIENCE)
    except OSError as error:
        return None, str(error)
    try:
        return tuple(json.loads(done.stdout.strip().splitlines()[-1])), ""
    except (ValueError, IndexError):
        lines = done.stderr.strip().splitlines()
        return None, lines[-1][:300] if lines else _("it ended with status {n}").format(n=done.returncode)


def _about(name, problem):
    """Advice on a library that cannot be imported."""
    if re.search(r"WinError 126|DLL load failed", problem):
        return _("Install Microsoft's Visual C++ Redistributable (x64) and try again.")
    if problem.startswith("ModuleNotFoundError") and f"'{name}'" in problem:
        large = name == "torch" and sys.platform == "linux"
        more = _("PyTorch's installation page has a command for the CPU alone, which is far smaller.") if large else ""
        return sentences(_("To install it, {what_to_do}.").format(what_to_do=installation.how_to_install(name)), more)
    if name == "torch" and re.search(r"cuda|cudnn|cublas|nccl|nvidia", problem, re.I):
        return _("This is a build for NVIDIA cards that does not fit here: install PyTorch's build for the CPU.")
    if re.search(r"numpy", problem, re.I) and name != "numpy":
        upgrade = installation.pip_install(f"--upgrade {name} numpy")
        return _("It does not fit the NumPy that is here: {command}").format(command=upgrade)
    anew = installation.pip_install(f"--force-reinstall --no-deps {name}")
    return _("To install it anew, {command}").format(command=anew)


def _floors():
    """name → oldest version, according to this release's own metadata."""
    try:
        needed = importlib.metadata.requires(installation.NAME) or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    return {m[1]: m[2] for m in (re.match(r"([\w-]+)>=([\d.]+)$", line) for line in needed) if m}


def _is_older(version, floor):
    numbers = [[int(n) for n in re.findall(r"\d+", text.split("+")[0])[:3]] for text in (version, floor)]
    return bool(version and floor) and numbers[0] < numbers[1]


def jupyterlab() -> Iterator[Finding]:
    """JupyterLab, the kernel that it would start, and the extensions that draw widgets in it."""
    try:
        version = importlib.metadata.version("jupyterlab")
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
        from jupyter_core.paths import jupyter_path
    except ImportError as error:  # PackageNotFoundError is one
        said = _("JupyterLab is missing ({error}): {what_to_do}")
        what = installation.how_to_install("jupyterlab")
        yield Finding("wrong", said.format(error=error, what_to_do=what))
        return
    yield Finding("good", f"JupyterLab {version}")
    try:
        yield _kernel(KernelSpecManager().get_kernel_spec("python3").argv[0])
    except NoSuchKernel:
        said = _("Notebooks have no Python to run on: {what_to_do}")
        yield Finding("wrong", said.format(what_to_do=installation.how_to_install("ipykernel")))
    for extension, package in EXTENSIONS.items():
        if not any((Path(folder) / extension / "package.json").is_file() for folder in jupyter_path("labextensions")):
            anew = installation.pip_install(f"--force-reinstall --no-deps {package}")
            said = _("JupyterLab does not find {name}, so widgets stay empty: {command}")
            yield Finding("wrong", said.format(name=extension, command=anew))
        elif extension in _switched_off(jupyter_path("labextensions")):
            again = f"`{sys.executable} -m jupyter labextension enable {extension}`"
            said = _("{name} is switched off in JupyterLab, so widgets stay empty: {command}")
            yield Finding("wrong", said.format(name=extension, command=again))
        else:
            yield Finding("good", _("JupyterLab finds {name}").format(name=extension))


def _kernel(program):
    usual = {"python", "python3", f"python3.{sys.version_info[1]}"}  # Jupyter takes its own Python for these
    same = os.path.normcase(Path(program).parent) == os.path.normcase(Path(sys.executable).parent)
    if program in usual or same:
        return Finding("good", _("Notebooks run on this Python"))
    here = f'"{sys.executable}" -m ipykernel install --sys-prefix'
    said = _(
        "Notebooks would run on another Python, {program}, which an earlier installation left behind. "
        "`jupyter kernelspec remove python3` takes it away; {command} sets this one."
    )
    return Finding("wrong", said.format(program=program, command=f"`{here}`"))


def _switched_off(folders):
    try:
        from jupyterlab_server.config import get_page_config

        return {name for name, off in get_page_config(folders).get("disabledExtensions", {}).items() if off}
    except Exception:  # settings that cannot be read: JupyterLab says so itself
        return set()


def browser() -> Iterator[Finding]:
    """Is there a browser that can be opened from here?"""
    try:
        which = getattr(webbrowser.get(), "name", _("the usual one"))
        yield Finding("good", _("A browser can be opened ({which})").format(which=which))
    except webbrowser.Error:
        yield Finding(
            "note",
            _(
                "No browser can be opened from here. `anatomy lab --no-browser` prints an address: open it in a "
                "browser of this machine, or of yours through an SSH tunnel."
            ),
        )


def examinations() -> list[Examination]:
    """All examinations, in the order of the report."""
    found: list[Examination] = [python, libraries, jupyterlab, browser]
    try:
        from . import doctor_folders
    except ImportError as error:
        said = _("Files were not looked at: {error}.").format(error=error)
        return [*found, lambda: iter([Finding("wrong", said)])]
    return [*found, *doctor_folders.EXAMINATIONS]


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``anatomy doctor``; returns 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="anatomy doctor", description=_("Say what is wrong here, and what mends it."))
    parser.parse_args(argv)
    wrong = 0
    for examine in examinations():
        try:
            for finding in examine():
                print(finding, flush=True)
                wrong += finding.state == "wrong"
        except Exception as error:  # an unforeseen problem is a finding too
            said = _("{name} could not be looked at ({error}).")
            said = said.format(name=examine.__name__, error=f"{type(error).__name__}: {error}")
            print(Finding("wrong", said))
            wrong += 1
    said = _("Nothing is wrong.")
    if wrong:
        said = ngettext(
            "One thing is wrong: the lines with {mark}.", "{n} things are wrong: the lines with {mark}.", wrong
        )
    print("\n" + said.format(n=wrong, mark=MARKS["wrong"]))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
