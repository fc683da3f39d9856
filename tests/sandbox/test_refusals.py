"""Machines without a sandbox: grading says so and what to do, at once, and runs nothing.

Each is made from this machine by removing what such a machine lacks; it works for root and for ordinary users.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder import ROOT
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

# Checks the sandbox and grades; prints JSON. The argument is the folder of submissions.
GRADE = """
import contextlib, io, json, sys, time
from autograder.grading.judging import sessions
from autograder.grading.__main__ import main
from autograder.sandbox import sandbox_available
began, out = time.monotonic(), io.StringIO()
with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
    status = main([sys.argv[1]])
found = sandbox_available()
print(json.dumps([bool(found), found.reason, status, out.getvalue()]))
"""
# Runs its arguments without access to user namespaces, like the usual settings of AppArmor and Docker.
NO_USER_NAMESPACES = """
import ctypes, os, struct, sys
from autograder.sandbox import seccomp as s
new_user, refused, here = 0x10000000, s._return(s._EPERM), os.uname().machine == "aarch64"
look = [*s._argument(0), *s._where(s._ANY_BIT, new_user, refused), *s._return(s._ALLOW)]
code = [(s._LOAD, 0, 0, s._NUMBER)]
for number, rule in (((272, 97), look), ((56, 220), look), ((435, 435), s._return(s._ENOSYS))):
    code += s._where(s._EQUAL, number[here], rule)
code += s._return(s._ALLOW)
zero = ctypes.c_ulong(0)
assert s.libc().prctl(38, ctypes.c_ulong(1), zero, zero, zero) == 0
s._load(b"".join(struct.pack("HBBI", *i) for i in code))
os.execv(sys.argv[1], sys.argv[1:])
"""
ROOT_OF_ITS_OWN = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "/bin/sh", "-c"]


@pytest.fixture
def submitted():
    """A folder, readable by all users, with a submission that writes a file when it runs."""
    folder = Path(tempfile.mkdtemp(prefix="anatomy-refusal-", dir="/tmp"))
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": f"open({str(folder / 'ran')!r}, 'w').write('x')",
    }
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    unit = folder / "submitted" / "ada" / "00-start-here"
    unit.mkdir(parents=True)
    (unit / "00-start-here.ipynb").write_text(json.dumps(book))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o644)
    yield folder / "submitted"
    shutil.rmtree(folder)


def run(command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)


def refused(done, submitted, *words):
    """Checks GRADE's output: a refusal in one sentence, with advice that contains the words."""
    assert done.returncode == 0, done.stderr[-2000:]
    found, reason, status, said = json.loads(done.stdout.splitlines()[-1])
    assert not found and status == 2, (found, reason, status, said)
    assert reason.startswith("no sandbox on this machine: ") and "\n" not in reason
    for word in (*words, "user.max_user_namespaces", "--security-opt"):
        assert word in reason, reason
    assert "Grading needs a sandbox" in said and reason in said and "--no-sandbox" in said
    assert "Traceback" not in said and "Traceback" not in done.stderr
    assert not (submitted.parent / "ran").exists()


def test_an_ordinary_user_without_user_namespaces(as_nobody, submitted):
    command = [sys.executable, "-c", NO_USER_NAMESPACES, sys.executable, "-c", GRADE, str(submitted)]
    refused(as_nobody(command), submitted, "new namespaces: Operation not permitted")


def test_a_system_that_hands_out_no_namespaces(submitted):
    """Like user.max_user_namespaces = 0, as far as a user namespace of our own can imitate it."""
    script = 'echo 0 > /proc/sys/user/max_mnt_namespaces; exec "$@"'
    command = [*ROOT_OF_ITS_OWN, script, "sh", sys.executable, "-c", GRADE, str(submitted)]
    refused(run(command), submitted, "new namespaces: No space left on device")


def test_a_container_without_privileges(submitted):
    """Root, but without the right to mount and without new privileges: Docker's default."""
    drop = ["setpriv", "--bounding-set=-sys_admin,-sys_ptrace,-net_admin", "--inh-caps=-all", "--no-new-privs"]
    inner = [*drop, sys.executable, "-c", NO_USER_NAMESPACES, sys.executable, "-c", GRADE, str(submitted)]
    refused(run([*ROOT_OF_ITS_OWN, 'exec "$@"', "sh", *inner]), submitted, "Operation not permitted")


def test_a_container_whose_proc_is_masked(submitted):
    """Namespaces work, but the kernel refuses to mount a /proc that would show more than the masked one."""
    mask = "mount -t proc none /proc; mount --bind /dev/null /proc/version"
    script = f'{mask}; exec unshare --user --map-user=1000 --map-group=1000 "$@"'
    command = [*ROOT_OF_ITS_OWN, script, "sh", sys.executable, "-c", GRADE, str(submitted)]
    refused(run(command), submitted, "/proc: Operation not permitted")


def test_a_machine_like_this_one_is_not_refused(as_nobody):
    """Without NO_USER_NAMESPACES, an ordinary user has both sandboxes."""
    script = "from autograder.sandbox import sandbox_available as s; f = s(); print(f.zygote, f.bubblewrap, f.reason)"
    assert as_nobody([sys.executable, "-c", script]).stdout == "True True \n"


def test_a_rootless_container_can():
    """Root, but with a single user id, so that sessions can't get a different one."""
    script = "from autograder.sandbox import sandbox_available as s; f = s(); print(f.zygote, f.bubblewrap, f.reason)"
    done = run([*ROOT_OF_ITS_OWN, 'mount -t proc none /proc; exec "$@"', "sh", sys.executable, "-c", script])
    assert done.stdout == "True True \n", (done.stdout, done.stderr)


def test_without_a_sandbox_the_instructor_is_told_what_is_left():
    from autograder.grading.judging.sessions import NO_SANDBOX

    for words in ("read your files", "use the network", "Limits on time", "memory", "outside the students' processes"):
        assert words in NO_SANDBOX.replace("\n", " ")
