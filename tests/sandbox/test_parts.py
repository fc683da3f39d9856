"""The parts by themselves: the filter, the control groups, the choice of paths, the check of the machine."""

import os
import subprocess
import sys

import pytest

from autograder import ROOT
from autograder.sandbox import (
    Availability,
    BubblewrapSession,
    Limits,
    SandboxUnavailable,
    availability,
    bubblewrap,
    cgroups,
    namespaces,
    open_session,
    seccomp,
)
from autograder.sandbox.channel import clean
from autograder.sandbox.printable import printable
from autograder.sandbox.provisioner import submission_folder
from autograder.sandbox.zygote import Zygote


# ---- system call filter ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_filter_lands_inside(monkeypatch, machine):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: machine)
    code = seccomp.program.__wrapped__()
    assert len(code) % 8 == 0
    count = len(code) // 8
    for i in range(count):
        operation, yes, no, _ = __import__("struct").unpack_from("HBBI", code, 8 * i)
        if operation & 7 == 5:  # a jump
            assert i + 1 + max(yes, no) < count
    assert code[-8:][:2] == b"\x06\x00"  # ends with a return


def run_filter(code, number, argument=0, arch=0xC000003E):
    """A tiny interpreter of the five instructions that the filter uses."""
    import struct

    data = struct.pack("<iIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    at, accumulator = 0, 0
    while True:
        operation, yes, no, k = struct.unpack_from("HBBI", code, 8 * at)
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, k)[0]
        elif operation == 0x06:
            return k
        else:
            taken = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[operation]
            at += yes if taken else no


@pytest.mark.parametrize(
    "number, argument, verdict",
    [
        (0, 0, 0x7FFF0000),  # read
        (165, 0, 0x00050001),  # mount
        (56, 0x01200011, 0x7FFF0000),  # clone as fork does
        (56, 0x003D0F00, 0x7FFF0000),  # clone as a thread
        (56, 0x10000011, 0x00050001),  # clone with a new user namespace
        (435, 0, 0x00050026),  # clone3: reported as missing
        (41, 1, 0x7FFF0000),  # a Unix socket
        (41, 40, 0x00050061),  # a virtual machine's socket
        (160, 4, 0x00050001),  # setrlimit of a core's size to 0: the kernel would start its handler
        (160, 7, 0x7FFF0000),  # setrlimit of open files
        (0x40000000, 0, 0x00050026),  # an x32 call
    ],
)
def test_verdicts_of_the_filter(monkeypatch, number, argument, verdict):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "x86_64")
    assert run_filter(seccomp.program.__wrapped__(), number, argument) == verdict


def test_foreign_architecture_is_killed(monkeypatch):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "x86_64")
    assert run_filter(seccomp.program.__wrapped__(), 0, arch=0x40000003) == 0x80000000


def test_unknown_machine_is_an_error(monkeypatch):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    with pytest.raises(RuntimeError, match="riscv64"):
        seccomp.program.__wrapped__()


# ---- control groups (with fake file systems, since no machine has both versions) -------------------------------------
def test_version_1_limits_memory_processes_and_cpu_time(tmp_path):
    for controller in ("memory", "pids", "cpu"):
        (tmp_path / controller).mkdir()
    made = cgroups.create("1-2", Limits(processes=7, session_cpu_percent=200), tmp_path)
    assert [f.relative_to(tmp_path).as_posix() for f in made] == [
        "memory/anatomy-1-2",
        "pids/anatomy-1-2",
        "cpu/anatomy-1-2",
    ]
    memory, pids, cpu = made
    assert (pids / "pids.max").read_text() == "7"
    assert int((memory / "memory.limit_in_bytes").read_text()) > Limits().memory_bytes
    quota, period = (int((cpu / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
    assert 2 <= quota / period < 2.2
    assert cgroups.folders("1-2", tmp_path) == made and cgroups.covered(made) == {"memory", "cpu"}


def test_version_2_limits_memory_processes_and_cpu_time(tmp_path, monkeypatch):
    (tmp_path / "cgroup.controllers").write_text("memory pids cpu")
    enabled = []
    write = cgroups.Path.write_text
    monkeypatch.setattr(
        cgroups.Path,
        "write_text",
        lambda self, text: enabled.append(text) if self.name == "cgroup.subtree_control" else write(self, text),
    )
    made = cgroups.create("1-2", Limits(processes=7), tmp_path)
    assert made == [tmp_path / "anatomy-1-2"] == cgroups.folders("1-2", tmp_path)
    assert sorted(enabled) == ["+cpu", "+memory", "+pids"]
    quota, period = map(int, (made[0] / "cpu.max").read_text().split())
    assert 1 <= quota / period < 1.1
    assert (made[0] / "pids.max").read_text() == "7" and (made[0] / "memory.max").exists()
    assert (made[0] / "memory.swap.max").read_text() == "0", "swap is memory, too"
    assert cgroups.covered(made) == {"memory", "cpu"}


def test_missing_controllers_are_passed_over_one_by_one(tmp_path):
    (tmp_path / "pids").mkdir()
    made = cgroups.create("1-2", Limits(), tmp_path)
    assert made == [tmp_path / "pids" / "anatomy-1-2"] and cgroups.covered(made) == set()
    (tmp_path / "cpu").mkdir()
    assert cgroups.covered(cgroups.create("1-3", Limits(), tmp_path)) == {"cpu"}


def test_a_group_without_a_bound_covers_nothing(tmp_path):
    for name, text in (("memory.max", "max"), ("cpu.max", "max 100000"), ("cpu.cfs_quota_us", "-1")):
        (tmp_path / name).write_text(text)
    (tmp_path / "memory.limit_in_bytes").write_text(str(2**63 - 4096))
    assert cgroups.covered([tmp_path]) == set()


def test_no_control_groups_no_limits(tmp_path):
    assert cgroups.create("1-2", Limits(), tmp_path) == []


def test_sweep_removes_what_a_dead_grader_left(tmp_path):
    (tmp_path / "memory").mkdir()
    dead, alive = (tmp_path / "memory" / f"anatomy-{pid}-1" for pid in (2**22 + 1, __import__("os").getpid()))
    dead.mkdir(), alive.mkdir()
    cgroups.sweep(tmp_path)
    assert not dead.exists() and alive.exists()


def test_sweep_removes_old_groups_though_another_process_has_the_number_now(tmp_path):
    (tmp_path / "cpu").mkdir()
    old = tmp_path / "cpu" / f"anatomy-{os.getpid()}-1"
    old.mkdir()
    os.utime(old, (0, 0))
    cgroups.sweep(tmp_path)
    assert not old.exists()


# ---- visible paths ---------------------------------------------------------------------------------------------------
def test_nested_paths_are_bound_once(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    paths = namespaces.readable_paths(namespaces.View((str(tmp_path / "a" / "b"), str(tmp_path / "a"), "/nowhere")))
    assert str(tmp_path / "a") in paths and str(tmp_path / "a" / "b") not in paths and "/nowhere" not in paths


@pytest.mark.parametrize(
    "folder", [ROOT, ROOT.parent, ROOT / "solutions", ROOT / "autograder" / "judge", None, "/nowhere"]
)
def test_no_staff_folder_becomes_a_working_directory(folder):
    assert submission_folder(folder and str(folder)) == ""


def test_a_submission_does(tmp_path):
    assert submission_folder(str(tmp_path)) == str(tmp_path.resolve())


def test_installed_staff_package_is_hidden(tmp_path, open_sandbox, monkeypatch):
    inner = tmp_path / "site" / "autograder" / "judge"
    inner.mkdir(parents=True)
    (inner / "secret.py").write_text("x = 1\n")
    monkeypatch.setattr(bubblewrap, "staff_folder", lambda: str(tmp_path / "site" / "autograder"))
    monkeypatch.setattr("autograder.sandbox.zygote.staff_folder", lambda: str(tmp_path / "site" / "autograder"))
    for kind in ("zygote", "bubblewrap"):
        with open_sandbox(kind, readable=[tmp_path / "site"]) as s:
            assert s.execute(f"import os; os.listdir({str(tmp_path / 'site')!r})").stdout == "['autograder']\n"
            assert s.execute(f"os.listdir({str(tmp_path / 'site' / 'autograder')!r})").stdout == "[]\n"


@pytest.mark.parametrize(
    "raw, text",
    [(b"a\x1b[1;31mb\x1b[0m", "ab"), (b"\xff", "\ufffd"), (b"a\r\nb\rc", "a\nbc"), ("\u202egrade".encode(), "grade")],
)
def test_text_is_cleaned(raw, text):
    assert clean(raw) == text


def test_what_stays_can_be_read_and_written():
    misleading = "\0\x1b\r\x7f\x9f\u2028\u2029\u202a\u202e\u2066\u2069\ud800\udfff"
    assert printable(f"a\tb\n{misleading}é✓") == "a\tb\né✓"
    printable("".join(map(chr, range(0x11_0000)))).encode()


# ---- availability ----------------------------------------------------------------------------------------------------
def test_this_machine_can():
    found = availability.sandbox_available()
    assert found.zygote and found.bubblewrap and found and not found.reason


def test_missing_bubblewrap_is_one_sentence(monkeypatch):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable, match="bubblewrap .* is not installed$"):
        BubblewrapSession()
    assert "not installed" in bubblewrap.probe()


def test_no_sandbox_is_one_sentence(monkeypatch):
    monkeypatch.setattr(availability, "sandbox_available", lambda: Availability(False, False, "no sandbox: why"))
    with pytest.raises(SandboxUnavailable, match="^no sandbox: why$"):
        availability.require_sandbox()
    with pytest.raises(SandboxUnavailable, match="^no sandbox: why$"):
        open_session(Zygote())


def test_other_systems_are_told(monkeypatch):
    monkeypatch.setattr(availability.sys, "platform", "darwin")
    found = availability.sandbox_available.__wrapped__()
    assert not found and "darwin" in found.reason


def test_refused_namespaces_are_told():
    """In a process that may not create namespaces (its user's limit is 0), the check fails with a reason."""
    script = "from autograder import sandbox\nfound = sandbox.sandbox_available()\nprint(bool(found), found.reason)"
    limit = "echo 0 > /proc/sys/user/max_mnt_namespaces"
    command = ["unshare", "--user", "--map-root-user", "/bin/sh", "-c", f'{limit}; exec "$@"', "sh"]
    done = subprocess.run([*command, sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("False no sandbox on this machine: ") and done.stdout.count("\n") == 1, done.stderr


def test_without_zygote_sessions_come_from_bubblewrap(caplog, tmp_path):
    (tmp_path / "broken_module.py").write_text("raise ValueError('no such luck')\n")
    z = Zygote(preload=("broken_module",), python_path=[str(tmp_path)])
    with open_session(z) as s:
        assert isinstance(s, BubblewrapSession) and s.execute("1 + 1").stdout == "2\n"
    assert "no such luck" in caplog.text
