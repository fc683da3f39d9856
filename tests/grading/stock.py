"""nbgrader's own commands, many in one process: to import nbgrader takes longer than what they do.

As a program it reads lines, runs a command for each, and answers with its exit status.
"""

import contextlib
import shlex
import sys
import warnings

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.validator import Validator
from sqlalchemy.exc import SAWarning


def run(arguments):
    """Runs ``nbgrader …`` in this process, as its command line does; returns the exit status."""
    app = NbGraderApp.instance()
    Validator.stream = sys.stdout  # it keeps the one that was there when it was imported
    try:
        with warnings.catch_warnings(category=SAWarning, action="ignore"):  # of what nbgrader itself does
            NbGraderApp.launch_instance(list(arguments))
        return 0
    except SystemExit as error:
        return error.code or 0
    finally:
        while app:  # each is the only one of its class, and would keep its options
            type(app).clear_instance()
            app = getattr(app, "subapp", None)


if __name__ == "__main__":
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            status = run(shlex.split(line))
        print(status, flush=True)
