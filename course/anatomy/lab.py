"""Opens JupyterLab on the learner's own notebooks, with nothing in the way of the first page.

``python -m anatomy.lab [folder] [-- options of jupyter lab]`` (make lab). No question about Jupyter news, no look for
updates, no instructor's tools; what a user has set in their own Jupyter configuration still wins.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from . import workspace
from .store import home

SETTINGS = Path(__file__).resolve().parent / "lab_settings"
FIRST_PAGE = f"{workspace.FIRST}/{workspace.FIRST}.ipynb"


def command(folder: Path | str, first: str = FIRST_PAGE, extra: Iterable[str] = ()) -> list[str]:
    """Command line that serves ``folder`` and opens its notebook ``first`` where there is one."""
    folder = Path(folder).resolve()
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
    """Environment for ``command``: ``base`` (else this process's), with the course's Jupyter settings in it.

    They rank below the user's own folder and above what a package installed.
    """
    env = dict(os.environ if base is None else base)
    own = env.get("JUPYTER_CONFIG_DIR") or str(Path(env.get("HOME") or Path.home()) / ".jupyter")
    places = [*filter(None, env.get("JUPYTER_CONFIG_PATH", "").split(os.pathsep)), own, str(SETTINGS)]
    env["JUPYTER_CONFIG_PATH"] = os.pathsep.join(dict.fromkeys(places))
    # Else the tabs of another project would open over the first page.
    env.setdefault("JUPYTERLAB_WORKSPACES_DIR", str(home() / "lab-workspaces"))
    return env


def launch(line: list[str], env: Mapping[str, str]) -> int:
    """Runs JupyterLab until it ends; returns its exit status. Where that is clean it takes this process's place."""
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
    """Command line; returns an exit status."""
    own, extra = list(sys.argv[1:] if argv is None else argv), []
    if "--" in own:
        at = own.index("--")
        own, extra = own[:at], own[at + 1 :]
    if len(own) > 1 or own and own[0].startswith("-"):
        print("usage: python -m anatomy.lab [folder] [-- options of jupyter lab]")
        return 0 if own[0] in ("-h", "--help") else 2
    if own:
        folder = Path(own[0])
    else:
        root = workspace.course_root()
        folder = root / workspace.WORK
        workspace.start(root)  # what went wrong for one notebook was said, and keeps nobody from the others
    if not folder.is_dir():
        print(f"There is no folder {folder}.", file=sys.stderr)
        return 2
    return launch(command(folder, extra=extra), environment())


if __name__ == "__main__":
    sys.exit(main())
