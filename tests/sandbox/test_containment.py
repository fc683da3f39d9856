"""Things that student code cannot do in a sandbox. Every test runs in both kinds of sandbox.

``test_unprivileged.py`` runs this file again as an ordinary user.
"""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from autograder import ROOT
from autograder.sandbox import CELL_TIMEOUT, AskDied, AskFailed, DeadSession, Limits
from tests.waiting import PATIENCE, at_most, wait_until

KINDS = ["bubblewrap", "zygote"]
# Storms use every core: two at a time on two cores would delay a watcher, and it would measure both.
pytestmark = pytest.mark.xdist_group("storms")
MIB = 1 << 20


@pytest.fixture(scope="module", params=KINDS)
def session(request, open_sandbox):
    with open_sandbox(request.param) as s:
        yield s


@pytest.fixture(params=KINDS)
def fresh(request, open_sandbox):
    return lambda *args, **options: open_sandbox(request.param, *args, **options)


def value(session, expression, before="", timeout=PATIENCE):
    """The printed value of an expression in the sandbox."""
    result = session.execute(f"{before}\nprint({expression})", timeout)
    assert result.ok, (result.error_name, result.error_text)
    return result.stdout.strip()


def error(session, cell, timeout=PATIENCE):
    result = session.execute(cell, timeout)
    assert result.error_name, f"no error; printed {result.stdout!r}"
    return f"{result.error_name}: {result.error_text}"


# ---- network ---------------------------------------------------------------------------------------------------------
def test_no_network_interface_is_up(session):
    assert value(session, "open('/proc/net/route').readlines()[1:]") == "[]"
    interfaces = value(session, "[l.split(':')[0].strip() for l in open('/proc/net/dev').readlines()[2:]]")
    assert interfaces == "['lo']"


def test_a_server_of_the_grader_cannot_be_reached(session):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()  # outside, the server can be reached
        said = error(session, f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)")
    # The error depends on whether the sandbox's own loopback interface is up.
    assert "unreachable" in said or "Connection refused" in said


def test_abstract_sockets_of_the_grader_cannot_be_reached(session):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0anatomy-test")
        server.listen()
        assert "refused" in error(session, "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0anatomy-test')")


@pytest.mark.parametrize("family", [17, 38, 40, 44])  # packet, kernel crypto, virtual machine, XDP
def test_odd_socket_families_are_refused(session, family):
    assert "OSError: [Errno 97]" in error(session, f"import socket\nsocket.socket({family}, socket.SOCK_DGRAM)")


# ---- files -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["solutions", "autograder", "tests", ".git", "gradebook.db", "course/01-attention"])
def test_the_staff_wing_is_not_there(session, path):
    # An empty stand-in may exist, so don't test for existence: the folder must contain no files.
    seen = value(session, f"sum(len(f) for _, _, f in os.walk({str(ROOT / path)!r}))", "import os")
    assert seen == "0" and value(session, f"os.path.isfile({str(ROOT / path)!r})") == "False"


def test_what_the_grader_can_read_is_not_there(session, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret")
    assert "FileNotFoundError" in error(session, f"open({str(secret)!r}).read()")
    for path in ("/etc/shadow", "/etc/hostname", "/var", "/sys/kernel", "/root/.ssh", "/proc/1/root/etc/hostname"):
        assert value(session, f"os.path.exists({path!r})", "import os") == "False", path


def test_listed_paths_are_there_read_only(fresh, tmp_path):
    (tmp_path / "lesson").mkdir()
    (tmp_path / "lesson" / "part.py").write_text("answer = 42\n")
    (tmp_path / "other").mkdir()
    with fresh(readable=[tmp_path / "lesson"], python_path=[tmp_path / "lesson"]) as s:
        assert value(s, "part.answer", "import part") == "42"
        assert "Read-only file system" in error(s, f"open({str(tmp_path / 'lesson' / 'new')!r}, 'w')")
        assert value(s, f"os.listdir({str(tmp_path)!r})", "import os") == "['lesson']"


def test_learner_wing_is_readable_by_default(session):
    for path in (p for p in (ROOT / "course" / "anatomy", ROOT / "assets") if p.exists()):
        assert value(session, f"len(os.listdir({str(path)!r})) > 0", "import os") == "True"


def test_writing_is_confined_to_the_private_home(session):
    walk = (
        "import os\nwritable = []\n"
        "for d, ds, fs in os.walk('/'):\n"
        "    ds[:] = [x for x in ds if d != '/' or x not in ('proc', 'usr')]\n"
        "    if os.access(d, os.W_OK): writable.append(d)"
    )
    assert session.execute(walk, PATIENCE).ok
    roots = {"/home/student", "/tmp", "/dev/shm"}
    found = {p for p in value(session, "' '.join(writable)").split() if not any(p.startswith(r + "/") for r in roots)}
    assert found - {"/dev/pts"} == roots  # /dev/pts holds terminals, and allows no files
    assert "Error" in error(session, "open('/dev/pts/x', 'w')")
    for path in ("/usr/x", "/x", "/etc/x", "/dev/x"):
        assert "Read-only" in error(session, f"open({path!r}, 'w')") or "Permission" in error(
            session, f"open({path!r}, 'w')"
        )


def test_what_one_session_writes_no_other_sees(fresh):
    with fresh() as a, fresh() as b:
        for path in ("/tmp/left", "/home/student/left", "/dev/shm/left"):
            assert a.execute(f"open({path!r}, 'w').write('here')").ok
            assert value(b, f"os.path.exists({path!r})", "import os") == "False"
    assert not Path("/tmp/left").exists() and not Path("/dev/shm/left").exists()


def test_a_startup_file_does_not_reach_the_next_session(fresh):
    place = "os.path.expanduser('~/.ipython/profile_default/startup')"
    with fresh() as s:
        s.execute(f"import os; os.makedirs({place}, exist_ok=True); open({place} + '/0.py', 'w').write('evil = 1')")
    with fresh() as s:
        assert "NameError" in error(s, "evil")


def test_files_are_bounded(fresh):
    with fresh(Limits(file_bytes=MIB, tmpfs_bytes=4 * MIB)) as s:
        assert "File too large" in error(s, "open('big', 'wb').write(bytes(2 << 20))")
        many = "for i in range(9):\n    with open(f'/tmp/{i}', 'wb') as f: f.write(bytes(1 << 20))"
        assert "No space left" in error(s, many)


def test_open_files_are_bounded(fresh):
    with fresh(Limits(open_files=64)) as s:
        assert "Too many open files" in error(s, "kept = [open('/dev/null') for _ in range(100)]")


# ---- processes -------------------------------------------------------------------------------------------------------
def test_other_processes_are_invisible(session):
    """Ids start anew, and only the session's processes are visible; those of the last request may still be ending."""
    listed = "' '.join(p for p in os.listdir('/proc') if p.isdigit())"
    pids = lambda: [int(p) for p in value(session, listed, "import os").split()]
    wait_until(lambda: len(pids()) <= 4, "other processes are visible")
    assert max(pids()) < 1000
    assert "ProcessLookupError" in error(session, f"os.kill({os.getpid()}, 0)")


def test_proc_is_safe(session):
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches"):
        assert value(session, f"os.access({path!r}, os.W_OK)", "import os") == "False", path
        said = error(session, f"open({path!r}, 'w')")
        assert "Permission denied" in said or "Read-only" in said or "No such file" in said
    assert "Error" in error(session, "open('/proc/kcore', 'rb').read(1)")


def test_no_privilege_is_left(session):
    status = value(session, "open('/proc/self/status').read()")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"
    assert "0" not in fields["Uid"].split()


@pytest.mark.parametrize(
    "call",
    [
        "libc.unshare(0x10000000)",  # a new user namespace would hand out capabilities again
        "libc.syscall(56 if x86 else 220, 0x10000011, 0, 0, 0, 0)",  # the same, with clone
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "libc.ptrace(16, 1, 0, 0)",
        "libc.syscall(425, 1, 0)",  # io_uring_setup
        "libc.syscall(321 if x86 else 280, 0, 0, 0)",  # bpf
        "libc.memfd_create(b'x', 0)",
        "libc.shmget(0, 1 << 30, 0o1600)",
        "libc.setns(0, 0)",
    ],
)
def test_dangerous_system_calls_are_refused(session, call):
    before = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nx86 = os.uname().machine == 'x86_64'"
    assert value(session, f"({call}, ctypes.get_errno())", before) == "(-1, 1)"


def test_sandbox_cannot_be_entered_from_a_sibling(fresh):
    with fresh() as a, fresh() as b:
        assert a.execute("import subprocess; p = subprocess.Popen(['sleep', '1000'])").ok
        assert value(b, "'sleep' in os.popen('ps aux').read()", "import os") == "False"


# ---- resources -------------------------------------------------------------------------------------------------------
def test_the_sandbox_is_the_first_to_go_when_memory_runs_short(session):
    assert value(session, "open('/proc/self/oom_score_adj').read()") == "1000"


def test_memory_bomb_is_a_memory_error(fresh):
    with fresh(Limits(memory_bytes=512 * MIB)) as s:
        assert "MemoryError" in error(s, "x = bytearray(1 << 30)")
        assert "MemoryError" in error(s, "x = []\nwhile True: x.append(bytearray(1 << 20))", 30)
        assert s.execute("y = bytearray(100 << 20)").ok


def test_memory_bomb_in_torch_is_an_error(open_sandbox):
    with open_sandbox("zygote", Limits(memory_bytes=512 * MIB)) as s:
        assert "allocate memory" in error(s, "import torch\ntorch.ones(1 << 29)")
        assert s.execute("torch.ones(1 << 20).sum().item()").stdout == "1048576.0\n"


def test_memory_bomb_of_many_processes_ends_cleanly(fresh):
    """Uses less than the processes' common limit of 4 GiB, which would end the session, as ``test_quotas`` tests."""
    one = "if os.fork() == 0:\n        x = bytearray(200 << 20); time.sleep(60)"
    bomb = f"import os, time\nfor _ in range(12):\n    {one}\ntime.sleep(60)"
    with fresh(Limits(memory_bytes=256 * MIB)) as s:
        s.execute("kept = 1")
        assert s.execute(bomb, 3).error_name
        assert value(s, "kept") == "1"


def test_fork_bomb_is_bounded_and_over_when_killed(fresh):
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    with fresh(Limits(processes=32)) as s:
        s.execute("kept = 1")
        with at_most(PATIENCE):
            assert s.execute(bomb, 1).error_name == CELL_TIMEOUT
        assert value(s, "kept") == "1"
        with pytest.raises(AskFailed):
            s.ask(bomb, timeout=1)
        count = "import os; reply = bytes([len([p for p in os.listdir('/proc') if p.isdigit()])])"
        wait_until(lambda: s.ask(count, timeout=PATIENCE)[0] <= 4, "processes are left")


def test_threads_are_bounded(fresh):
    start = "threading.Thread(target=time.sleep, args=(5,), daemon=True).start()"
    cell = f"import threading, time\nfor _ in range(100): {start}"
    with fresh(Limits(processes=32)) as s:
        assert "can't start new thread" in error(s, cell)


def test_cpu_time_is_bounded(fresh):
    with fresh(Limits(cpu_seconds=5)) as s:  # starting takes one on a slow machine
        with pytest.raises(AskDied, match="SIG(XCPU|KILL)"):
            s.ask("while True: pass", timeout=PATIENCE)
        assert s.ask("reply = b'ok'") == b"ok"


def test_background_processes_do_not_outlive_a_question(session):
    session.ask("import subprocess; subprocess.Popen(['sleep', '1000']); reply = b''")
    sleeping = "os.popen('ps ax').read().count('sleep 1000')"
    wait_until(lambda: value(session, sleeping, "import os") == "0", "the process is still there")


def test_sessions_do_not_disturb_each_other(fresh):
    with fresh(Limits(processes=32)) as bad, fresh(Limits(processes=32)) as good:
        bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
        thread = threading.Thread(target=bad.execute, args=(bomb, 2))
        thread.start()
        time.sleep(0.5)
        said = good.execute("import subprocess; subprocess.check_output(['echo', 'hi'])", PATIENCE)
        assert said.stdout == "b'hi\\n'\n"
        thread.join()
    with fresh() as s:
        assert value(s, "1 + 1") == "2"


# ---- ends ------------------------------------------------------------------------------------------------------------
def test_nothing_is_left_of_a_closed_session(fresh):
    mark = f"98765.{os.getpid()}"  # unique, since other runs of these tests may be in progress
    with fresh() as s:
        s.execute(f"import subprocess; p = subprocess.Popen(['sleep', '{mark}'], start_new_session=True)")
        s.execute("import os\nif os.fork() == 0:\n    os.setsid(); import time; time.sleep(98765)")
        assert mark in os.popen("ps axww").read()
    wait_until(lambda: mark not in os.popen("ps axww").read(), "a process outlived its session")


def test_session_that_kills_all_it_can_says_so(fresh):
    with fresh() as s:
        s.execute("a = 1")
        try:
            assert s.execute("import os, signal; os.kill(-1, signal.SIGKILL)\nos._exit(1)", 3).error_name
            s.execute("a", 3)
        except DeadSession as e:
            assert str(e)
    with fresh() as s:
        assert value(s, "1") == "1"
