"""The command ``anatomy``: a table with one line for each subcommand, which is imported when it is used.

A subcommand is a function of its own arguments that returns an exit status. None imports torch before it needs a
tensor: importing it takes seconds, and ``anatomy doctor`` has to be able to say what is wrong with it.
"""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..system import installation
from ..system.translation import ENGLISH, N_, _, listed, usually

INTERRUPTED = 130  # the exit status that shells report for a program stopped by Ctrl-C

# name → (where its function is, its purpose)
COMMANDS: dict[str, tuple[str, str]] = {
    "lab": ("app.lab:main", N_("open JupyterLab on your notebooks; copy them where none are yet")),
    "update": ("app.workspace:update_command", N_("bring a new release into your notebooks, keep every answer")),
    "check": ("parts.command:main", N_("run the answers of saved notebooks, and say which pass")),
    "progress": ("progress.page:main", N_("show how far you are")),
    "drill": ("drill.command:main", N_("write an exercise again from blank, before you forget it")),
    "certificate": ("progress.certificate:main", N_("write a page to print that lists what you built")),
    "doctor": ("app.doctor:main", N_("say what is wrong with this installation, and how to mend it")),
    "gallery": ("app.gallery:main", N_("open the widgets as pages in a browser, without a notebook")),
}


def usage() -> str:
    """The text that ``anatomy --help`` prints."""
    lines = [f"  {name:12}{_(purpose)}" for name, (where, purpose) in COMMANDS.items()]
    return "\n".join(
        [
            _("usage: anatomy COMMAND [...]"),
            "",
            _("Transformer Anatomy: build every part of a Transformer in notebooks that check what you write."),
            "",
            *lines,
            "",
            _("`anatomy COMMAND --help` says more of one, `anatomy --version` which release this is."),
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    _say_anything()
    try:
        with usually(_language()):
            return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        print(_("Stopped."), file=sys.stderr)
        return INTERRUPTED


def _language():
    """The language of the learner's notebooks, if they can be found without asking."""
    try:
        return installation.place().language
    except (OSError, RuntimeError):  # the current folder is gone, or no home: the command reports it if it matters
        return ENGLISH


def _run(given):
    if not given or given[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = given
    if name in ("-V", "--version"):
        print(f"Transformer Anatomy {__version__} (Python {sys.version.split()[0]}, {Path(__file__).parents[1]})")
        return 0
    if name not in COMMANDS:
        said = _("anatomy: there is no command {name!r}. There are: {names}.")
        print(said.format(name=name, names=listed(COMMANDS)), file=sys.stderr)
        return 2
    module, function = COMMANDS[name][0].split(":")
    try:
        run = getattr(importlib.import_module(f"..{module}", __package__), function)
    except (ImportError, OSError) as error:  # a library is missing, or one of its own libraries is
        return _cannot_start(name, error)
    try:
        return run(rest)
    except ImportError as error:  # the same, of a library that is imported when it is needed
        return _cannot_start(name, error)
    except BrokenPipeError:  # `anatomy progress | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains once more as it ends
        return 1


def _cannot_start(name, error):
    what = installation.how_to_repair() if name == "doctor" else _("`anatomy doctor` says what to do.")
    said = _("anatomy {name} cannot start: {error}").format(name=name, error=error)
    print(f"{said}\n{what}", file=sys.stderr)
    return 1


def _say_anything():
    """Makes a console that has no ✓ or █ show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
