"""Enter a sandbox without executing another program: a forked process creates Linux namespaces by system calls.

``enter`` returns in process 1 of a new process namespace, which sees a read-only selection of the file system, an
empty network, a private home in memory, and no other process. As root it takes an unused user id for each session; as
an ordinary user it uses a user namespace. Needs Linux 5.12 (mount_setattr).
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path

from . import cgroups, seccomp, usage
from .limits import Limits, apply_rlimits
from .view import Step, View, steps, system

HOME = "/home/student"
_FILES = 20_000  # number of files that a session may make; a submission brings at most 2,000

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_READ_ONLY = _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442


@dataclass(frozen=True)
class Sandbox:
    """A request to ``enter``. mount_point: an empty folder of the grader; seen from outside it stays empty."""

    mount_point: str
    name: str
    view: View = field(default_factory=View)
    limits: Limits = field(default_factory=Limits)


def session_uid(slot: int) -> int:
    """A separate user id for each session that root starts, so that sessions don't share per-user limits.

    Far above all ids in normal use. If a container maps only a small range, some slots share an id.
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


def may_change_user() -> bool:
    """True for root, but not for the root of a rootless container, which is one ordinary user of the machine."""
    if os.geteuid() != 0:
        return False
    try:
        ranges = [list(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except OSError:
        return True
    return any(inside <= session_uid(0) < inside + count for inside, _, count in ranges)


class _Kernel:
    """System calls that Python's os module lacks. Failing calls raise OSError with ``what`` in the text."""

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
    """Do once what would otherwise be slow in every fork."""
    _kernel()
    system()
    seccomp.program()


@functools.cache  # looking up the C library takes milliseconds, so the zygote does it once
def _kernel() -> _Kernel:
    return _Kernel()


def enter(box: Sandbox, keep: list[socket.socket], note: usage.Note | None = None) -> None:
    """Make a new sandbox. Returns in its process 1, without privileges, in the home directory.

    The caller must be a single-threaded child process forked for this purpose. The calling process itself never
    returns: it stays outside, watches the resources that no control group limits (``usage.py``; if it ends the sandbox,
    it writes the reason to ``note``), and exits when process 1 has ended (killing it kills the sandbox). ``keep``:
    sockets that stay open; every other descriptor is closed, and 0, 1, 2 become /dev/null.

    Raises OSError if the system refuses a step (before or after the fork, but always in a process that can still
    report it on a kept socket).
    """
    kernel, root, limits = _kernel(), may_change_user(), box.limits
    os.setsid()
    _close_all_but([s.fileno() for s in keep] + ([note.fd] if note else []))
    groups = cgroups.create(box.name, limits) if root else []
    bounds = {group: cgroups.covered([group]) for group in groups}  # read now: they are not visible later
    joins = cgroups.open_for_join(groups)
    clock = None if "cpu" in set().union(*bounds.values()) else usage.clock_or_none()
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
    usage.keep_outer_proc()
    joined_r, joined_w = os.pipe()
    child = os.fork()
    if child:
        try:
            # Joining takes the kernel about 10 ms; meanwhile the child continues.
            groups = cgroups.join(child, groups, joins)
            os.write(joined_w, b"+")
        except OSError:
            pass  # the child sees the pipe close and reports it
        for sock in keep:
            sock.close()
        os.close(joined_w)
        usage.attend(child, limits, {"cpu", "memory"}.difference(*(bounds[g] for g in groups)), clock, note)
        os._exit(0)
    os.close(joined_w)
    for fd in joins:
        os.close(fd)
    for held in (clock, note):  # only the watcher needs these
        if held is not None:
            held.close()
    kernel.mount("proc", box.mount_point + "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    Path(box.mount_point, "proc/self/oom_score_adj").write_text("1000")  # if memory runs short, this is killed first
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
    # After the change of user, which resets both. Without the second a process can't read its own /proc/self.
    kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(_PR_SET_DUMPABLE, 1)
    apply_rlimits(limits, count_processes=True)
    seccomp.install()
    if os.read(joined_r, 1) != b"+":
        raise OSError("the control group could not be joined")
    os.close(joined_r)


def _close_all_but(keep: list[int]) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    low = 3
    for fd in sorted(keep):
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
        kernel.mount(source, place, None, _MS_BIND | _MS_REC)
        if attributes:
            kernel.set_attributes(place, attributes, recursive=True)

    # One budget for home and temporary files. An empty file takes none of it, but a kilobyte of kernel memory, hence
    # nr_inodes.
    tmpfs("/space", f"size={size},nr_inodes={_FILES},mode=700,uid={uid},gid={gid}")
    for part, place in (("/space/home", HOME), ("/space/tmp", "/tmp")):
        os.mkdir(new + part, 0o700)
        os.chown(new + part, uid, gid)
        bind(new + part, place, 0)
    kernel.unmount(new + "/space")
    os.rmdir(new + "/space")
    covers = []
    for step in steps(view):
        place = new + step.place
        if step.kind == "bind":
            bind(step.source, step.place, _READ_ONLY)
        elif step.kind == "link":
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(step.source, place)
        elif os.path.isdir(step.place):
            tmpfs(step.place, "size=1m,mode=755")
            covers.append(place)
            _fill(kernel, place, step)
        else:  # a file of a package
            bind("/dev/null", step.place, _ATTR_RDONLY)
    for place in covers:  # only now, because mount points had to be made in them first
        kernel.set_attributes(place, _READ_ONLY, recursive=True)
    os.makedirs(new + "/dev", exist_ok=True)
    for name in ("null", "zero", "full", "random", "urandom"):
        bind("/dev/" + name, "/dev/" + name, _ATTR_NOSUID)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink("/proc/self/fd" + target, f"{new}/dev/{name}")
    os.mkdir(new + "/dev/pts")
    options = "newinstance,ptmxmode=0666,mode=620"  # own terminals: IPython's "!command" needs one
    kernel.mount("devpts", new + "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, options)
    os.symlink("pts/ptmx", new + "/dev/ptmx")
    tmpfs("/dev/shm", f"size={size},nr_inodes={_FILES},mode=1777")
    os.makedirs(new + "/proc")
    os.makedirs(new + "/etc", exist_ok=True)
    Path(new, "etc/passwd").write_text(f"student:x:{uid}:{gid}::{HOME}:/bin/sh\n")
    if view.workdir:
        from .local import copy_files

        copy_files(view.workdir, new + HOME, size)  # the caller has checked that they fit
        for folder, folders, files in os.walk(new + HOME):
            for name in (*folders, *files):
                os.chown(os.path.join(folder, name), uid, gid)


def _fill(kernel: _Kernel, place: str, step: Step) -> None:
    """Bind the step's names in the empty folder ``place``; the caller makes everything in it read-only later."""
    for name in step.names:
        path, source = f"{place}/{name}".rstrip("/"), os.path.join(step.source, name)
        if name.endswith("/"):
            os.mkdir(path)
        else:
            os.mknod(path)
        kernel.mount(source, path, None, _MS_BIND | _MS_REC)


def readable_paths(view: View) -> list[str]:
    """The readable places of a view, outer ones first, without duplicates."""
    return [step.place for step in steps(view) if step.kind != "cover"]
