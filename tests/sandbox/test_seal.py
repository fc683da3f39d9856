"""What a sealed process (``seccomp.seal``) can and cannot do, each tried in a fork of one process."""

import faulthandler
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder import ROOT
from autograder.sandbox import seccomp
from tests.waiting import PATIENCE

# Evaluates its arguments in a sealed process; prints each result. Imports come first, before the seal.
SCRIPT = """
import ctypes, errno, json, mmap, os, resource, select, signal, socket, subprocess, sys, tempfile, threading, time
os.chdir(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
pair, file = socket.socketpair(), open("old", "rb+")
from autograder.sandbox import seccomp
assert seccomp.seal() is True
def call(name, *arguments):
    number = seccomp.syscalls.ALL[name][0 if os.uname().machine == "x86_64" else 1]
    result = libc.syscall(ctypes.c_long(number), *arguments)
    return result if result >= 0 else errno.errorcode[ctypes.get_errno()]
said = []
for line in sys.argv[2:]:
    try:
        said.append(repr(eval(line)))
    except OSError as error:
        said.append(errno.errorcode[error.errno])
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
print(json.dumps(said))
"""


@pytest.fixture
def sealed(tmp_path):
    """sealed(*expressions) -> the result of each in a sealed process: its repr, or the name of its errno."""
    (tmp_path / "old").write_text("content")
    (tmp_path / "folder").mkdir()

    def run(*expressions):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), *expressions]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return dict(zip(expressions, json.loads(done.stdout), strict=True))

    return run


CHANGES = [
    "open('new', 'w')",
    "open('old', 'a')",
    "open('old', 'r+')",
    "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "os.open('old', os.O_RDONLY | os.O_TRUNC)",
    "os.open('new', os.O_RDONLY | os.O_CREAT)",
    "os.unlink('old')",
    "os.rename('old', 'new')",
    "os.link('old', 'new')",
    "os.symlink('old', 'new')",
    "os.mkdir('new')",
    "os.rmdir('folder')",
    "os.chmod('old', 0)",
    "os.chown('old', os.getuid(), os.getgid())",
    "os.truncate('old', 1)",
    "file.truncate(1)",
    "os.posix_fallocate(file.fileno(), 0, 100)",
    "os.mkfifo('new')",
    "os.utime('old')",
    "os.setxattr('old', 'user.x', b'y')",
]
BEGINNINGS = [
    "os.fork()",
    "os.execv('/bin/true', ['true'])",
    "subprocess.run(['/bin/true'])",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "os.system('true') and 'EPERM'",
    "call('clone', 17, 0, 0, 0, 0)",
    "call('clone', 0x10010000, 0, 0, 0, 0)",
]
REACHING = [
    "socket.socket()",
    "socket.socket(socket.AF_UNIX)",
    "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "pair[0].connect('/run/x')",
    "pair[0].bind('x')",
    "pair[0].listen()",
    "pair[0].accept()",
    "os.kill(os.getppid(), 0)",
    "os.kill(-1, 0)",
    "os.killpg(0, 0)",
    "signal.pidfd_send_signal(0, signal.SIGTERM)",
    "call('tgkill', os.getppid(), os.getppid(), 0)",
    "call('tkill', os.getppid(), 0)",
    "os.pidfd_open(os.getppid())",
    "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "call('setrlimit', resource.RLIMIT_NOFILE, bytes(16))",
    "resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (20, 20))",
    "os.sched_setaffinity(os.getppid(), [0])",
    "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "os.setuid(os.getuid())",
    "os.memfd_create('x')",
    "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) and errno.errorcode[ctypes.get_errno()]",
    "libc.ptrace(16, os.getppid(), 0, 0) and errno.errorcode[ctypes.get_errno()]",
    "libc.personality(0x0040000) and errno.errorcode[ctypes.get_errno()]",
]


@pytest.mark.parametrize("expressions", [CHANGES, BEGINNINGS, REACHING], ids=["files", "processes", "others"])
def test_a_sealed_process_changes_starts_and_reaches_nothing(sealed, expressions, tmp_path):
    found = sealed(*expressions)
    wrong = {line: said for line, said in found.items() if said not in ("EPERM", "'EPERM'")}
    # If the C library can't start the shell, os.system returns -1.
    assert wrong.pop("os.system('true') and 'EPERM'", "-1") in ("-1", "'EPERM'")
    assert not wrong
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "old"]
    assert (tmp_path / "old").read_text() == "content"


def test_a_sealed_process_computes_reads_and_answers(sealed):
    thread = "[t := threading.Thread(target=pair[0].sendall, args=(b'hi',)), t.start(), t.join(), pair[1].recv(9)][-1]"
    answers = {
        "sum(range(10))": "45",
        "open('old').read()": "'content'",
        "os.listdir('folder')": "[]",
        "file.write(b'C')": "1",
        "os.path.exists('/nowhere')": "False",
        thread: "b'hi'",
        "socket.socketpair()[0].close()": "None",
        "socket.send_fds(pair[0], [b'x'], [file.fileno()])": "1",
        "len(socket.recv_fds(pair[1], 1, 1)[1])": "1",
        "len(mmap.mmap(-1, 1 << 20))": str(1 << 20),
        "os.kill(os.getpid(), 0)": "None",
        "signal.setitimer(signal.ITIMER_PROF, 100)": "(0.0, 0.0)",
        "resource.getrlimit(resource.RLIMIT_CORE) is None": "False",
        "select.select([], [], [], 0)": "([], [], [])",
        "time.sleep(0.001)": "None",
        "len(os.urandom(4))": "4",
        "len(os.pipe())": "2",
        "__import__('decimal').Decimal(2) ** 2": "Decimal('4')",
    }
    assert sealed(*answers) == answers


def test_torch_and_sympy_work_in_a_sealed_process(tmp_path):
    """Tests threads, lazy imports and big allocations, with imports after the seal."""
    script = """
import sys
from autograder.sandbox import seccomp
assert seccomp.seal()
import sympy, torch, numpy
torch.set_num_threads(2)
x = torch.randn(600, 600, requires_grad=True)
(x @ x).softmax(-1).sum().backward()
assert x.grad.shape == (600, 600) and float(torch.fft.fft(torch.ones(8)).real.sum()) == 8
assert str(sympy.simplify(sympy.sympify("sin(x)**2 + cos(x)**2"))) == "1"
print(numpy.linalg.inv(numpy.eye(300)).sum(), torch.linalg.svd(torch.eye(50)).S.sum().item())
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "300.0 50.0\n", done.stderr


def test_signals_that_end_a_sealed_process_still_do():
    """A failed assertion's SIGABRT and a kill still end it, which the grader's limits need."""
    for ending, number in (("os.abort()", signal.SIGABRT), ("signal.raise_signal(9)", signal.SIGKILL)):
        pid = os.fork()
        if pid == 0:
            faulthandler.disable()  # pytest's would print a long traceback
            seccomp.seal()
            exec(ending)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -number


def test_threads_that_run_already_are_sealed_too():
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        go = threading.Event()

        def act():
            go.wait()
            try:
                os.mkdir("/tmp/anatomy-sealed")
            except OSError as error:
                theirs.send(str(error.errno).encode())

        thread = threading.Thread(target=act)
        thread.start()
        seccomp.seal()
        go.set()
        thread.join()
        os._exit(0)
    theirs.close()
    os.waitpid(pid, 0)
    with ours:
        assert ours.recv(9) == b"1"


def test_a_system_without_filters_says_so(monkeypatch):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert seccomp.seal() is False
    assert "\nSeccomp:\t2" not in Path("/proc/self/status").read_text()


def test_sealing_costs_little():
    began = time.process_time()
    for _ in range(20):
        seccomp.sealed_program(1234)
    assert (time.process_time() - began) / 20 < 0.02  # seconds per call; one takes about 1 ms
