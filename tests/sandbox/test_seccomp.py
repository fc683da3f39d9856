"""The list of system calls: calls that are not on it are refused, whatever their number, and those on it still work."""

import json

import pytest

from autograder.sandbox import Limits, seccomp, syscalls
from tests.waiting import PATIENCE

KINDS = ["bubblewrap", "zygote"]

# Calls numbers with arguments that no call can use; names come from the list of allowed calls.
PROBE = """
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
column = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
bad = ctypes.c_long(-1)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments or (-1,) * 6))
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""
ALLOWED = {name: numbers for name, numbers in syscalls.ALL.items()}


@pytest.fixture(scope="module", params=KINDS)
def session(request, open_sandbox):
    with open_sandbox(request.param, Limits(wall_seconds=600)) as s:
        yield s


def ask(session, code):
    """Runs the code in a fork of the sandbox; returns its variable ``found``."""
    return json.loads(session.ask(f"{PROBE}{code}\nreply = json.dumps(found).encode()", timeout=PATIENCE))


def test_every_call_that_is_not_listed_is_refused(session):
    numbers = list(ALLOWED.values())
    found = ask(
        session,
        # On x86-64 two numbers belong to an administrator's probes; newer kernels end other processes that call them.
        f"allowed = {{n[column] for n in {numbers!r}}} | ({{335, 336}} if column == 0 else set())\n"
        "found = {n: call(n) for n in [*range(1024), 1 << 20, 0x3fffffff, 0x40000000, 0x40000009] if n not in allowed}",
    )
    assert len(found) > 700
    assert set(found.values()) <= {"EPERM", "ENOSYS"}, found
    assert all(said == "ENOSYS" for n, said in found.items() if int(n) >= 500)  # as on kernels too old to know them


def test_what_is_listed_is_there(session):
    """Called with invalid arguments, a call that exists gives a different error than a refused one."""
    # Not tried: calls that end, stop or fork this process, take no arguments or accept any, or need a privilege.
    dangerous = "exit exit_group fork vfork clone clone3 pause rt_sigreturn restart_syscall rt_sigsuspend kill tkill"
    dangerous += " tgkill rt_sigqueueinfo rt_tgsigqueueinfo setsid setpgid read write poll select alarm futex"
    harmless = {n: v for n, v in ALLOWED.items() if n not in dangerous.split() and n not in syscalls.USERS}
    # The kernel checks privileges before it looks at the arguments.
    harmless = {n: v for n, v in harmless.items() if n not in ("personality", "sched_setattr", "sched_setscheduler")}
    found = ask(session, f"found = {{n: call(v[column]) for n, v in {harmless!r}.items() if v[column] is not None}}")
    assert len(found) > 100
    refused = {name for name, said in found.items() if said in ("EPERM", "ENOSYS")}
    # Newer than some kernels that this runs on.
    assert refused <= {"fchmodat2", "epoll_pwait2", "faccessat2", "close_range"}, refused


@pytest.mark.parametrize(
    "call, said",
    [
        ("call(socket_, 1, 2, 0)", "done"),
        ("call(socket_, 2, 1, 6)", "done"),
        ("call(socket_, 16, 3, 0)", "done"),  # routes, which getifaddrs needs
        ("call(socket_, 16, 3, 12)", "EPROTONOSUPPORT"),  # the packet filter
        ("call(socket_, 2, 1, 132)", "EPROTONOSUPPORT"),  # SCTP
        ("call(socket_, 2, 1, 262)", "EPROTONOSUPPORT"),  # MPTCP
        ("call(socket_, 2, 5, 136)", "EPROTONOSUPPORT"),  # UDP-Lite
        ("call(socket_, 30, 5, 0)", "EAFNOSUPPORT"),  # TIPC
        ("call(pair, 30, 5, 0, 0)", "EAFNOSUPPORT"),
        ("call(ioctl, 1, 0x5412, 0)", "EPERM"),  # TIOCSTI: types into the terminal
        ("call(ioctl, 1, 0x100005412, 0)", "EPERM"),  # the kernel looks at only the lower half
        ("call(ioctl, 1, 0x541C, 0)", "EPERM"),  # TIOCLINUX: pastes into it
        ("call(ioctl, 1, 0x5423, 0)", "EPERM"),  # TIOCSETD: line disciplines
        ("call(ioctl, 1, 0x4b01, 0)", "ENOTTY"),  # consoles and their fonts
        ("call(ioctl, -1, 0x5401, 0)", "EBADF"),  # TCGETS is allowed
        ("call(ioctl, -1, 0x802C542A, 0)", "EBADF"),  # its newer form is allowed too
        ("call(fcntl, 0, 1031, 1 << 20)", "EINVAL"),  # F_SETPIPE_SZ: memory that no limit counts
        ("call(fcntl, 0, 1024, 0)", "EINVAL"),  # F_SETLEASE
        ("call(fcntl, 0, 1033, 1)", "EINVAL"),  # F_ADD_SEALS
        ("call(fcntl, -1, 1030, 0)", "EBADF"),  # F_DUPFD_CLOEXEC is allowed
        ("call(prctl, 35, 1, 0, 0, 0)", "EINVAL"),  # PR_SET_MM
        ("call(prctl, 22, 1, 0, 0, 0)", "EINVAL"),  # PR_SET_SECCOMP
        ("call(prctl, 38, 1, 0, 0, 0)", "done"),
        ("call(personality, 0x40000)", "EPERM"),  # no randomized addresses
        ("call(personality, 0x400000)", "EPERM"),  # READ_IMPLIES_EXEC
        ("call(personality, 0xffffffff)", "done"),
        ("call(clone, 0x10000011, 0, 0, 0, 0)", "EPERM"),
        ("call(clone, 0x80 | 17, 0, 0, 0, 0)", "EPERM"),  # a time namespace
        ("call(clone3, 0, 0)", "ENOSYS"),
    ],
)
def test_arguments_decide(session, call, said):
    names = "socket socketpair ioctl fcntl prctl personality clone clone3".split()
    table = {name + "_" * (name == "socket"): syscalls.ALL[name] for name in names}
    table["pair"] = table.pop("socketpair")
    known = f"globals().update({{n: v[column] for n, v in {table!r}.items()}})"
    assert ask(session, f"{known}\nfound = {call}") == said


def test_ordinary_programs_run(session):
    """Shells, pipes, threads, process pools, shared memory, a database, a terminal: none of them is refused."""
    cell = """
import asyncio, multiprocessing, mmap, os, pty, shutil, sqlite3, subprocess, tempfile, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import shared_memory
shell = "ls -la / | sort | head -3; cp -a /bin/true t; touch q; ln -s q r; chmod 600 q; id; uname; nice true"
said = subprocess.run(shell, shell=True, capture_output=True, text=True)
assert said.returncode == 0 and not said.stderr, said
with ThreadPoolExecutor(3) as pool: assert list(pool.map(abs, [-1, 2])) == [1, 2]
with ProcessPoolExecutor(2) as pool: assert list(pool.map(abs, [-1, 2])) == [1, 2]
block = shared_memory.SharedMemory(create=True, size=1000); block.close(); block.unlink()
with sqlite3.connect("x.db") as base: base.execute("create table t(a)")
folder = tempfile.mkdtemp(); shutil.copytree(folder, folder + "2"); shutil.copy2("q", folder); shutil.rmtree(folder)
os.mkfifo("pipe"); os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0)); os.close(pty.openpty()[0])
async def run():
    process = await asyncio.create_subprocess_exec("echo", stdout=-1)
    await process.wait()
asyncio.run_coroutine_threadsafe
threading.Thread(target=lambda: asyncio.run(run())).start()
"""
    result = session.execute(cell, PATIENCE)
    assert result.ok and not result.stdout, (result.error_name, result.error_text, result.stdout)


@pytest.mark.parametrize("machine, column", [("x86_64", 0), ("aarch64", 1)])
def test_no_number_is_listed_twice(machine, column):
    numbers = [n[column] for n in ALLOWED.values() if n[column] is not None]
    assert len(set(numbers)) == len(numbers)
    assert sum(len(group) for group in syscalls.STUDENT) == len(ALLOWED)
    assert not {n for n in numbers if n < 0 or n > 500}
    assert all(a == b for a, b in ALLOWED.values() if a is not None and a >= 424)  # one numbering since Linux 5.1


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_sealed_process_gets_less_than_a_student(monkeypatch, machine):
    from tests.sandbox.test_parts import run_filter

    monkeypatch.setattr(seccomp.platform, "machine", lambda: machine)
    arch = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    student, sealed = seccomp.program.__wrapped__(), seccomp.sealed_program(77)
    allow = 0x7FFF0000
    looked_at = {syscalls.ALL[n][("x86_64", "aarch64").index(machine)] for n in ("prlimit64", "socketpair")}
    for number in range(600):
        if number not in looked_at:
            verdicts = [run_filter(code, number, 77, arch) for code in (student, sealed)]
            assert verdicts[0] == allow or verdicts[1] != allow, number
    assert len(sealed) < 8 * 4096 and len(student) < 8 * 4096  # the kernel's limit on instructions
