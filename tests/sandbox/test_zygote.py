"""The zygote's life: private, restarted after it dies, and gone with its owner, however that ends."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.sandbox import Limits, LocalSession, SandboxedSession, SandboxUnavailable, Zygote, cgroups
from tests.waiting import PATIENCE, wait_until

SMALL = {"preload": ("numpy",)}  # torch would take seconds


def gone(pid):
    """Whether the process has ended, or is a zombie that waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends between opening and reading
        return True


@pytest.fixture
def small():
    with Zygote(**SMALL) as z:
        yield z


def test_folder_is_private_and_removed(small):
    folder = Path(small.folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_ISSOCK((folder / "zygote").stat().st_mode)
    pid = small.pid
    small.close()
    assert not folder.exists() and gone(pid)


def test_it_answers_and_says_when_it_does_not(small):
    assert small.healthy()
    os.kill(small.pid, signal.SIGSTOP)
    assert not small.healthy(timeout=0.3)
    os.kill(small.pid, signal.SIGCONT)
    wait_until(small.healthy)
    small.close()
    assert not small.healthy()


def test_it_is_restarted_after_its_death(small, caplog):
    folder = small.folder
    with SandboxedSession(small) as before:
        before.execute("a = 1")
        os.kill(small.pid, signal.SIGKILL)
        wait_until(lambda: not small.healthy())
        with SandboxedSession(small) as after:
            assert after.execute("1 + 1").stdout == "2\n"
        assert before.execute("a").stdout == "1\n"  # a session's process doesn't need the zygote
    assert small.restarts == 1 and "died" in caplog.text
    assert not os.path.exists(folder)


def test_closing_it_ends_its_sandboxes(small):
    session = SandboxedSession(small)
    assert session.execute("1").ok
    small.close()
    assert gone(session.pid)
    with pytest.raises(Exception, match="gone"):
        session.execute("1", timeout=PATIENCE)


def test_sessions_leave_nothing(small):
    with SandboxedSession(small) as s:
        s.execute("open('/tmp/x', 'w').write('x')")
        pid = s.pid
    wait_until(lambda: gone(pid) and not cgroups.folders(f"{small.pid}-{pid}"))
    assert set(os.listdir(small.folder)) == {"home", "root", "stderr", "zygote"}
    assert os.listdir(os.path.join(small.folder, "root")) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_all_is_gone_when_the_grader_is_killed(how):
    mark = f"86403.{os.getpid()}"  # unique, since other runs of these tests may be in progress
    script = f"""
import os, sys, time
from autograder.sandbox import LocalSession, SandboxedSession, Zygote
z = Zygote(preload=("numpy",))
z.start()
s = SandboxedSession(z)
s.execute("import subprocess; p = subprocess.Popen(['sleep', '{mark}'])")
local = LocalSession(preload=())
local.execute("import subprocess; p = subprocess.Popen(['sleep', '{mark}'])")
print(z.folder, local.home, z.pid, s.pid, flush=True)
s.execute("while True: pass", timeout=600)
"""
    grader = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    folder, home, zygote, guard = grader.stdout.readline().split()
    time.sleep(0.2)  # let the endless cell begin
    grader.send_signal(how)
    grader.wait()
    grader.stdout.close()
    wait_until(lambda: not os.path.exists(folder) and not os.path.exists(home))
    wait_until(lambda: gone(zygote) and gone(guard))
    wait_until(lambda: mark not in os.popen("ps axww").read())
    wait_until(lambda: not cgroups.folders(f"{zygote}-{guard}"))


def test_a_forgotten_session_is_closed(small):
    session = SandboxedSession(small)
    pid = session.pid
    del session
    wait_until(lambda: gone(pid))


def test_failure_to_start_names_the_reason(tmp_path):
    (tmp_path / "broken_module.py").write_text("raise ValueError('no such luck')\n")
    z = Zygote(preload=("broken_module",), python_path=[str(tmp_path)])
    with pytest.raises(SandboxUnavailable, match="no such luck"):
        z.start()
    assert z.folder == "" and z.pid is None


def test_a_zygote_with_threads_refuses_to_start(tmp_path):
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    (tmp_path / "threaded_module.py").write_text(thread)
    with pytest.raises(SandboxUnavailable, match="2 threads"):
        Zygote(preload=("threaded_module",), python_path=[str(tmp_path)]).start()


def test_failure_inside_the_sandbox_names_the_reason(small):
    limits = Limits()
    object.__setattr__(limits, "tmpfs_bytes", -1)
    with pytest.raises(SandboxUnavailable, match="did not start: ValueError: Limits.tmpfs_bytes"):
        SandboxedSession(small, limits)
    assert small.healthy()


def test_torch_is_ready_and_its_generator_differs_between_sessions(zygote):
    drawn = set()
    for _ in range(3):
        with SandboxedSession(zygote) as s:
            result = s.execute("import torch; torch.randn(3).tolist()", timeout=PATIENCE)
            assert result.ok
            drawn.add(result.stdout)
    assert len(drawn) == 3


def test_backward_works_after_all_the_forks(zygote):
    cell = "import torch\nx = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nx.grad.tolist()"
    with SandboxedSession(zygote) as s:
        assert s.execute(cell).stdout == "[2.0, 2.0, 2.0]\n"
        code = "x = student_ns['x']; x.grad = None; (x ** 3).sum().backward(); reply = repr(x.grad.tolist()).encode()"
        assert s.ask(code) == b"[3.0, 3.0, 3.0]"


def test_zygote_knows_nothing_of_earlier_sessions(small):
    with SandboxedSession(small) as s:
        s.execute("import builtins, numpy; builtins.spy = numpy.spy = 1")
    with SandboxedSession(small) as s:
        assert (
            s.execute("import builtins, numpy; hasattr(builtins, 'spy') or hasattr(numpy, 'spy')").stdout == "False\n"
        )


def test_staff_modules_cannot_be_imported(zygote):
    with SandboxedSession(zygote) as s:
        for name in ("autograder.judge", "autograder.reference", "autograder.exercises"):
            assert s.execute(f"def f():\n    import {name}\nf()").error_name == "ModuleNotFoundError"
        loaded = s.execute("import sys; sorted(m for m in sys.modules if m.startswith('autograder.'))").stdout
        assert all(name.startswith("'autograder.sandbox") for name in loaded.strip()[1:-1].split(", "))


def test_local_session_removes_its_folder():
    with LocalSession(preload=()) as s:
        home = s.home
        assert home.is_dir()
        s.execute("open('x', 'w').write('x')")
    assert not home.exists()


def test_what_a_fork_must_copy_may_lie_in_large_pages(zygote):
    """Without them, each fork takes half as long again. Whether the system has some free is not the test's matter."""
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists() or "[never]" in setting.read_text():
        pytest.skip("this machine has no large pages")
    maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{zygote.pid}/smaps").read_text(), flags=re.M)[1:]
    size = lambda areas: sum(int(re.search(r"^Anonymous: +(\d+) kB", area, re.M)[1]) for area in areas)
    large = [area for area in maps if re.search(r"^VmFlags:.* hg\b", area, re.M)]
    assert size(large) > 0.25 * size(maps), f"{size(large)} of {size(maps)} kB"
