"""Opens JupyterLab on the learner's own notebooks, with nothing in the way of the first page.

``anatomy lab [folder] [--language zh_CN] [-- options of jupyter lab]`` (make lab) first copies the notebooks that are
missing. No question about Jupyter news, no check for updates, no instructor's tools; what users have set in their
own Jupyter configuration takes precedence.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..system import installation
from ..system.store import home
from ..system.texts import tell
from ..system.translation import _, usually
from . import workspace

SETTINGS = Path(__file__).resolve().parents[1] / "lab_settings"
FIRST_PAGE = f"{installation.FIRST}/{installation.FIRST}.ipynb"


def command(folder: Path | str, first: str = FIRST_PAGE, extra: Iterable[str] = ()) -> list[str]:
    """Command line that serves ``folder`` and opens its notebook ``first`` if there is one."""
    folder = Path(os.path.realpath(folder))
    line = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.app_settings_dir={SETTINGS}",
    ]
    if (folder / first).is_file():
        line.append(f"--LabApp.default_url=/lab/tree/{first}")
    if getattr(os, "geteuid", lambda: 1)() == 0:
        line.append("--allow-root")
    return [*line, *extra]


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment for ``command``: ``base`` (default: this process's) with the course's Jupyter settings added.

    They rank below the user's own folder and above the settings of installed packages.
    """
    env = dict(os.environ if base is None else base)
    own = env.get("JUPYTER_CONFIG_DIR") or str(Path(env.get("HOME") or Path.home()) / ".jupyter")
    places = [*filter(None, env.get("JUPYTER_CONFIG_PATH", "").split(os.pathsep)), own, str(SETTINGS)]
    env["JUPYTER_CONFIG_PATH"] = os.pathsep.join(dict.fromkeys(places))
    # Otherwise the tabs of another project would open over the first page.
    env.setdefault("JUPYTERLAB_WORKSPACES_DIR", str(home() / "lab-workspaces"))
    return env


def launch(line: list[str], env: Mapping[str, str]) -> int:
    """Runs JupyterLab until it ends; returns its exit status. Except on Windows, JupyterLab replaces this process."""
    if sys.platform != "win32":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(line[0], line, env)
    server = subprocess.Popen(line, env=env)
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            continue  # Ctrl+C reaches the server too, which asks whether to stop


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``anatomy lab``; returns an exit status."""
    own, extra = list(sys.argv[1:] if argv is None else argv), []
    if "--" in own:
        at = own.index("--")
        own, extra = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(
        prog="anatomy lab",
        description=_("Open JupyterLab on your notebooks; copy them where none are yet, never over yours."),
        epilog=_("What stands behind -- goes to JupyterLab: {command}").format(command="anatomy lab -- --port=8890"),
    )
    parser.add_argument("folder", nargs="?", type=Path, help=_("your folder, where it is not the usual one"))
    parser.add_argument("--language", default="", help=_("of the notebooks, such as zh_CN; a folder keeps its own"))
    parser.add_argument("--no-browser", action="store_true", help=_("print the address, open no browser"))
    options = parser.parse_args(own)
    wrong = installation.unknown(options.language) if options.language else ""
    if wrong:
        tell(_("lab: {problem}").format(problem=wrong), sys.stderr)
        return 2
    place = installation.place(options.folder, options.language)
    with usually(place.language):
        if wrong := installation.foreign(place) or installation.of_another_language(place):
            tell(_("lab: {problem}").format(problem=wrong), sys.stderr)
            return 2
        if importlib.util.find_spec("jupyterlab") is None:
            what = installation.how_to_install("jupyterlab")
            print(_("lab: JupyterLab is missing: {what_to_do}.").format(what_to_do=what), file=sys.stderr)
            return 1
        workspace.start(place)  # a problem with one notebook was reported, and does not affect the others
    if not place.own.is_dir():
        return 2  # reported as well
    if place.root is None:
        installation.remember(place.own)
    return launch(command(place.own, extra=["--no-browser"] * options.no_browser + extra), environment())


if __name__ == "__main__":
    sys.exit(main())
