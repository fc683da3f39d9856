"""Enter a sandbox without executing another program: Linux namespaces through system calls, from a forked process.

``enter`` turns the calling process into process 1 of a new process namespace that sees a read-only selection of the
file system, an empty network, a private home in memory, and no other process. As root it takes an unused user id for
each session; as an ordinary user it uses a user namespace. Needs Linux 5.12 (mount_setattr).
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import socket
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import cgroups, seccomp
from .limits import Limits, apply_rlimits

HOME = "/home/student"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442


@dataclass(frozen=True)
class View:
    """What a sandbox sees of the machine, besides the system's own programs and libraries.

    readable   paths bound read-only, each at its own place
    hidden     folders inside the former that are covered with an empty one
    workdir    folder whose files are copied into the home directory, which is the working directory
    """

    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    workdir: str = ""


@dataclass(frozen=True)
class Sandbox:
    """A request to ``enter``. mount_point: an empty folder of the grader's; it stays empty outside."""

    mount_point: str
    name: str
    view: View = field(default_factory=View)
    limits: Limits = field(default_factory=Limits)


def session_uid(slot: int) -> int:
    """A user id of its own for each session that root starts, so that limits per user do not couple sessions.

    Far above all ids that systems hand out; a container may map only a small range, then slots share some ids.
    """
    base, span = 2_000_000_000, 1 << 22
    try:
        for line in Path("/proc/self/uid_map").read_text().splitlines():
            inside, _, count = map(int, line.split())
            if inside <= base and base + span <= inside + count:
                return base + slot % span
            if inside <= 60_000 and 64_000 <= inside + count:
                base, span = 60_001, 3_999
    except OSError:
        pass
    return base + slot % span if base == 60_001 else 65_534


class _Kernel:
    """The system calls that Python's os module lacks. Failing calls raise OSError with ``what`` in the text."""

    def __init__(self) -> None:
        self.libc = seccomp.libc()

    def check(self, result: int, what: str) -> None:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def unshare(self, flags: int) -> None:
        self.check(self.libc.unshare(flags), "new namespaces")

    def mount(self, source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
        encode = lambda s: s.encode() if s is not None else None
        args = encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(data)
        self.check(self.libc.mount(*args), f"mount {target}")

    def unmount(self, path: str) -> None:
        detach = 2
        self.check(self.libc.umount2(path.encode(), detach), f"umount {path}")

    def set_attributes(self, target: str, attributes: int, *, recursive: bool) -> None:
        at_fdcwd, at_recursive = -100, 0x8000
        attr = struct.pack("QQQQ", attributes, 0, 0, 0)
        flags = ctypes.c_uint(at_recursive if recursive else 0)
        args = ctypes.c_int(at_fdcwd), target.encode(), flags, attr, ctypes.c_size_t(len(attr))
        self.check(self.libc.syscall(ctypes.c_long(_MOUNT_SETATTR), *args), f"mount_setattr {target}")

    def pivot_root(self, path: str) -> None:
        os.chdir(path)
        number = ctypes.c_long(_PIVOT_ROOT[os.uname().machine])
        self.check(self.libc.syscall(number, b".", b"."), "pivot_root")
        self.unmount(".")
        os.chdir("/")

    def prctl(self, option: int, value: int) -> None:
        self.check(self.libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")

    def drop_bounding_set(self) -> None:
        last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
        for capability in range(last + 1):
            self.prctl(_PR_CAPBSET_DROP, capability)

    def drop_capabilities(self) -> None:
        version_3 = struct.pack("Ii", 0x20080522, 0)
        self.check(self.libc.capset(version_3, b"\0" * 24), "capset")


def warm_up() -> None:
    """Do what would be slow in every fork."""
    _kernel()
    seccomp.program()


@functools.cache  # looking the C library up takes milliseconds: the zygote does it once
def _kernel() -> _Kernel:
    return _Kernel()


def enter(box: Sandbox, keep: list[socket.socket]) -> None:
    """Move this process into a new sandbox. Returns in process 1 of it, without privileges, in the home directory.

    The caller must be single-threaded and a child made for the purpose. The calling process itself never returns: it
    stays outside, waits, and exits when process 1 has ended (killing it kills the sandbox). ``keep``: sockets that
    stay open; every other descriptor is closed, and 0, 1, 2 become /dev/null.

    Raises OSError where the system refuses a step (before or after the fork, but always in a process that can still
    report it on a kept socket).
    """
    kernel, root, limits = _kernel(), os.geteuid() == 0, box.limits
    os.setsid()
    _close_all_but(keep)
    joins = cgroups.open_for_join(cgroups.create(box.name, limits)) if root else []
    flags = _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS | _NEWCGROUP
    uid, gid = (session_uid(os.getpid()),) * 2 if root else (1000, 1000)
    if root:
        kernel.unshare(flags)
    else:
        outside = os.geteuid(), os.getegid()
        kernel.unshare(flags | _NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {outside[0]} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {outside[1]} 1")
    os.umask(0o022)
    _build_view(kernel, box, uid, gid)
    joined_r, joined_w = os.pipe()
    child = os.fork()
    if child:
        try:
            # Joining takes the kernel some 10 ms of waiting, which the child meanwhile puts to use.
            for fd in joins:
                os.write(fd, str(child).encode())
            os.write(joined_w, b"+")
        except OSError:
            pass  # the child sees the pipe close and reports it
        for sock in keep:
            sock.close()
        os.close(joined_w)
        os.waitpid(child, 0)
        os._exit(0)
    os.close(joined_w)
    for fd in joins:
        os.close(fd)
    kernel.mount("proc", box.mount_point + "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    Path(box.mount_point, "proc/self/oom_score_adj").write_text("1000")  # if the machine runs short, this goes first
    kernel.drop_bounding_set()
    kernel.pivot_root(box.mount_point)
    kernel.set_attributes("/", _ATTR_RDONLY, recursive=False)
    socket.sethostname("sandbox")
    os.chdir(HOME)
    kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if root:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    kernel.drop_capabilities()
    # After the change of user, which resets both. Without the second one its own /proc/self is closed to a process.
    kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(_PR_SET_DUMPABLE, 1)
    apply_rlimits(limits, count_processes=True)
    seccomp.install()
    if os.read(joined_r, 1) != b"+":
        raise OSError("the control group could not be joined")
    os.close(joined_r)


def _close_all_but(keep: list[socket.socket]) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    low = 3
    for fd in sorted(s.fileno() for s in keep):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _build_view(kernel: _Kernel, box: Sandbox, uid: int, gid: int) -> None:
    """Mount the sandbox's file system below ``box.mount_point``, in this process's new mount namespace."""
    new, view, size = box.mount_point, box.view, box.limits.tmpfs_bytes
    kernel.mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    kernel.mount("tmpfs", new, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")

    def tmpfs(path: str, data: str) -> None:
        os.makedirs(new + path, exist_ok=True)
        kernel.mount("tmpfs", new + path, "tmpfs", _MS_NOSUID | _MS_NODEV, data)

    def bind(source: str, target: str, attributes: int) -> None:
        place = new + target
        if os.path.isdir(source):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            open(place, "a").close()
        kernel.mount(os.path.realpath(source), place, None, _MS_BIND | _MS_REC)
        if attributes:
            kernel.set_attributes(place, attributes, recursive=True)

    tmpfs("/space", f"size={size},mode=700,uid={uid},gid={gid}")  # one budget for home and temporary files
    for part, place in (("/space/home", HOME), ("/space/tmp", "/tmp")):
        os.mkdir(new + part, 0o700)
        os.chown(new + part, uid, gid)
        bind(new + part, place, 0)
    kernel.unmount(new + "/space")
    os.rmdir(new + "/space")
    for path in readable_paths(view):
        if path in SYSTEM and os.path.islink(path) and os.path.isdir(path):
            os.makedirs(os.path.dirname(new + path), exist_ok=True)
            os.symlink(os.readlink(path), new + path)  # /bin -> usr/bin, and the like
        else:
            bind(path, path, _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)
    for path in view.hidden:
        if os.path.isdir(new + path):
            kernel.mount("tmpfs", new + path, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=4k,mode=755")
            kernel.set_attributes(new + path, _ATTR_RDONLY, recursive=False)
    os.makedirs(new + "/dev", exist_ok=True)
    for name in ("null", "zero", "full", "random", "urandom"):
        bind("/dev/" + name, "/dev/" + name, _ATTR_NOSUID)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink("/proc/self/fd" + target, f"{new}/dev/{name}")
    os.mkdir(new + "/dev/pts")
    options = "newinstance,ptmxmode=0666,mode=620"  # own terminals: IPython's "!command" wants one
    kernel.mount("devpts", new + "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, options)
    os.symlink("pts/ptmx", new + "/dev/ptmx")
    tmpfs("/dev/shm", f"size={size},mode=1777")
    os.makedirs(new + "/proc")
    os.makedirs(new + "/etc", exist_ok=True)
    Path(new, "etc/passwd").write_text(f"student:x:{uid}:{gid}::{HOME}:/bin/sh\n")
    if view.workdir:
        from .local import copy_files

        copy_files(view.workdir, new + HOME, size)  # the caller has checked that they fit
        for folder, folders, files in os.walk(new + HOME):
            for name in (*folders, *files):
                os.chown(os.path.join(folder, name), uid, gid)


def readable_paths(view: View) -> list[str]:
    """The system's and Python's own folders and the view's, those that exist, outer ones first, none twice."""
    python = [sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)]
    paths = sorted({os.path.abspath(p) for p in (*SYSTEM, *python, *view.readable)}, key=lambda p: (p.count("/"), p))
    kept: list[str] = []
    for path in paths:
        inside = any(path.startswith(k.rstrip("/") + "/") for k in kept if not os.path.islink(k))
        if os.path.exists(path) and not inside:
            kept.append(path)
    return kept
