"""Runs commands as an ordinary user, even if the tests run as root with a Python that only root can reach."""

import os
import pwd
import shlex
import sys
import tempfile
from pathlib import Path

from autograder import ROOT

NOBODY = "nobody"


def _closed(path: Path) -> Path | None:
    """The outermost folder on the way to ``path`` that other users cannot enter, or None."""
    for folder in reversed([path, *path.parents]):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def as_nobody(command: list[str]) -> list[str]:
    """The command line that runs ``command`` as the user nobody, or ``command`` itself if the tests don't run as root.

    Folders that only root can enter, such as the one with this Python, are opened for that process alone, in a
    separate mount namespace.
    """
    if os.geteuid() != 0:
        return command
    user, script = pwd.getpwnam(NOBODY), ["set -e"]
    for needed in dict.fromkeys([Path(sys.base_prefix), Path(os.path.realpath(sys.executable)).parents[1], ROOT]):
        if closed := _closed(needed):
            where, there, outer = (shlex.quote(str(p)) for p in (tempfile.mkdtemp(), needed, closed))
            script += [
                f"mount --bind {there} {where}",
                f"mount -t tmpfs -o mode=755 none {outer}",
                f"mkdir -p {there}",
                f"mount --move {where} {there}",
                f"rmdir {where}",
            ]
    script.append(f'exec setpriv --reuid={user.pw_uid} --regid={user.pw_gid} --clear-groups --bounding-set=-all "$@"')
    return ["unshare", "--mount", "/bin/sh", "-c", "\n".join(script), "sh", *command]
