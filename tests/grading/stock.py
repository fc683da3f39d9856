"""nbgrader's own commands, many in one process: importing nbgrader takes longer than the commands do.

As a program, it reads lines, runs each as a command, and answers with the exit status.
"""

import contextlib
import shlex
import sys
import warnings

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.validator import Validator
from sqlalchemy.exc import SAWarning


def run(arguments):
    """Runs ``nbgrader …`` in this process, as nbgrader's command line does; returns the exit status."""
    app = NbGraderApp.instance()
    Validator.stream = sys.stdout  # it keeps the stream that existed when it was imported
    try:
        with warnings.catch_warnings(category=SAWarning, action="ignore"):  # warnings about nbgrader's own code
            NbGraderApp.launch_instance(list(arguments))
        return 0
    except SystemExit as error:
        return error.code or 0
    finally:
        while app:  # each is a singleton of its class, and would keep its options
            type(app).clear_instance()
            app = getattr(app, "subapp", None)


if __name__ == "__main__":
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            status = run(shlex.split(line))
        print(status, flush=True)
