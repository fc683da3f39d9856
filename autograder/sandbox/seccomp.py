"""System calls that processes may make: classic-BPF filters for x86-64 and aarch64 Linux.

``program`` and ``install`` are for students' code. It already has no capability, no network and no view of other
files; the filter removes rarely used calls, where kernel bugs are likely, and memory that no resource limit counts. It
is an allow list (``syscalls.py``), because we can't list the calls that the next kernel adds: other calls fail with
EPERM, calls newer than Linux 5.3 with ENOSYS, so that libraries that try them fall back as on an older kernel.
A refused call never kills the process. For some calls the filter checks the arguments: it refuses new namespaces,
unusual socket families and protocols, typing into a terminal (TIOCSTI), pipes beyond their usual size, and unusual
options of prctl and personality.

``seal`` is for a child of the grader that only computes and answers on its open descriptors: trusted code that
processes a student's answers. It cannot start processes, open connections, signal others or change files.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct

from . import syscalls

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data (little endian)
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_YOUNG = 434  # from this number on (Linux 5.3, both architectures) libraries expect that a call may be missing

_NEW_NAMESPACES, _THREAD = 0x7E020080, 0x00010000  # CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}; CLONE_THREAD
_UNIX, _NETLINK = 1, 16
_FAMILIES = (_UNIX, 2, 10, _NETLINK)  # unix, inet, inet6, netlink: the last three find an empty network
_PROTOCOLS = (0, 1, 6, 17, 58)  # default, ICMP, TCP, UDP, ICMPv6
_DATAGRAM_OR_RAW = 2  # the bit in a socket's type
# ioctl: terminals (0x54..), sockets (0x89..), and the terminal calls whose numbers carry a size
_TERMINAL, _TERMINAL_END, _SOCKETS, _SOCKETS_END = 0x5401, 0x5480, 0x8901, 0x8A00
_TERMINAL_SIZED = (0x80045430, 0x40045431, 0x80045432, 0x80045439, 0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D)
_TIOCSTI, _TIOCLINUX, _TIOCCONS, _TIOCSETD = 0x5412, 0x541C, 0x541D, 0x5423
_LOOK_AT_TERMINAL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, size, FIONREAD, FIONBIO, FIO(N)CLEX
# fcntl: duplicate, flags, locks, read a pipe's size. Not: signal owners, leases, directory notifications, larger pipes,
# seals.
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 9, 36, 37, 38, 1030, 1032)
# prctl: parent-death signal, dumpable, timers, name, dropping capabilities, no new privileges, subreaper, huge pages,
# vector length of aarch64, speculation, names of mappings; setpriv needs securebits and keepcaps.
_PRCTL = (1, 2, 3, 4, 7, 8, 15, 16, 21, 23, 24, 25, 27, 29, 30, 36, 37, 38, 39, 41, 42, 47, 51, 52, 63, 0x53564D41)
_PRCTL_SEALED = (1, 2, 3, 15, 16, 21, 23, 25, 27, 30, 39, 42, 51, 52, 63, 0x53564D41)
_RLIMIT_CORE = 4
_WRITING = 0x00000643 | 0x00400000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_TMPFILE

Instruction = tuple[int, int, int, int]


def _fail(code: int) -> int:
    return _ERRNO | code


_EPERM, _ENOSYS, _EINVAL = _fail(errno.EPERM), _fail(errno.ENOSYS), _fail(errno.EINVAL)


# ---- pieces of filters: each falls through to the next one unless it returns -----------------------------------------
def _argument(position: int, high: bool = False) -> list[Instruction]:
    """Load half of an argument; of a C int the kernel itself uses only the low half."""
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * position + 4 * high)]


def _return(verdict: int) -> list[Instruction]:
    return [(_RETURN, 0, 0, verdict)]


def _where(test: int, value: int, then: list[Instruction]) -> list[Instruction]:
    return [(test, 0, len(then), value), *then]


def _one_of(values: tuple[int, ...]) -> list[Instruction]:
    return [i for value in values for i in _where(_EQUAL, value, _return(_ALLOW))]


def _range(begin: int, end: int) -> list[Instruction]:
    return [(_AT_LEAST, 0, 2, begin), (_AT_LEAST, 1, 0, end), *_return(_ALLOW)]


def _student_rules() -> dict[str, list[Instruction]]:
    """Rules for calls with dangerous arguments, by name of the call; each ends with a return."""
    refused = [i for c in (_TIOCSTI, _TIOCLINUX, _TIOCCONS, _TIOCSETD) for i in _where(_EQUAL, c, _return(_EPERM))]
    terminals = [*_range(_TERMINAL, _TERMINAL_END), *_range(_SOCKETS, _SOCKETS_END), *_one_of(_TERMINAL_SIZED)]
    netlink = [*_argument(2), *_one_of((0,)), *_return(_fail(errno.EPROTONOSUPPORT))]
    protocol = [*_argument(2), *_one_of(_PROTOCOLS), *_return(_fail(errno.EPROTONOSUPPORT))]
    sockets = [i for f in _FAMILIES[:-1] for i in _where(_EQUAL, f, protocol)]
    core = _return(_EPERM)  # keep the limit that stops core dumps (limits.py); a lower value would allow them
    asked = [i for high in (False, True) for i in (*_argument(2, high), *_where(_ANY_BIT, 0xFFFFFFFF, core))]
    return {
        # clone3's flags are in memory that a filter can't read; without clone3 the C library falls back to clone.
        "clone3": _return(_ENOSYS),
        "clone": [*_argument(0), *_where(_ANY_BIT, _NEW_NAMESPACES, _return(_EPERM)), *_return(_ALLOW)],
        "socket": [
            *_argument(0),
            *_where(_EQUAL, _NETLINK, netlink),
            *sockets,
            *_return(_fail(errno.EAFNOSUPPORT)),
        ],
        "socketpair": [*_argument(0), *_one_of((_UNIX,)), *_return(_fail(errno.EAFNOSUPPORT))],
        "ioctl": [*_argument(1), *refused, *terminals, *_return(_fail(errno.ENOTTY))],
        "fcntl": [*_argument(1), *_one_of(_FCNTL), *_return(_EINVAL)],
        "prctl": [*_argument(0), *_one_of(_PRCTL), *_return(_EINVAL)],
        "personality": [*_argument(0), *_one_of((0, 0xFFFFFFFF)), *_return(_EPERM)],
        "setrlimit": [*_argument(0), *_where(_EQUAL, _RLIMIT_CORE, core), *_return(_ALLOW)],
        "prlimit64": [*_argument(1), *_where(_EQUAL, _RLIMIT_CORE, [*asked, *_return(_ALLOW)]), *_return(_ALLOW)],
        # The error of a file system without extended attributes, so that "cp -a" continues.
        **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr"), _return(_fail(errno.EOPNOTSUPP))),
    }


def _sealed_rules(pid: int) -> dict[str, list[Instruction]]:
    """Rules for a sealed process. pid: its own id, the only process that it may signal or query."""
    own = [*_argument(0), *_one_of((pid,)), *_return(_EPERM)]
    own_or_0 = [*_argument(0), *_one_of((0, pid)), *_return(_EPERM)]
    thread = [*_where(_ANY_BIT, _NEW_NAMESPACES, _return(_EPERM)), *_where(_ANY_BIT, _THREAD, _return(_ALLOW))]
    stream = _where(_ANY_BIT, _DATAGRAM_OR_RAW, _return(_EPERM))  # a datagram can be sent to any named socket
    # No new limits: with a null pointer the call only reads the old ones.
    nothing = [i for high in (False, True) for i in (*_argument(2, high), (_EQUAL, 1, 0, 0), *_return(_EPERM))]
    return {
        "clone3": _return(_ENOSYS),
        "clone": [*_argument(0), *thread, *_return(_EPERM)],
        "socketpair": [*_argument(1), *stream, *_argument(0), *_one_of((_UNIX,)), *_return(_EPERM)],
        "ioctl": [*_argument(1), *_one_of(_LOOK_AT_TERMINAL), *_return(_fail(errno.ENOTTY))],
        "fcntl": [*_argument(1), *_one_of(_FCNTL), *_return(_EINVAL)],
        "prctl": [*_argument(0), *_one_of(_PRCTL_SEALED), *_return(_EINVAL)],
        "kill": own,
        "tgkill": own,
        "prlimit64": [*nothing, *own_or_0],
        "open": [*_argument(1), *_where(_ANY_BIT, _WRITING, _return(_EPERM)), *_return(_ALLOW)],
        "openat": [*_argument(2), *_where(_ANY_BIT, _WRITING, _return(_EPERM)), *_return(_ALLOW)],
    }


# ---- programs --------------------------------------------------------------------------------------------------------
def supported() -> bool:
    return platform.system() == "Linux" and platform.machine() in _ARCHITECTURES


def _compile(allowed: tuple[syscalls.Table, ...], rules: dict[str, list[Instruction]]) -> bytes:
    """The filter as an array of struct sock_filter. Raises RuntimeError on a system without listed call numbers."""
    if not supported():
        raise RuntimeError(f"no system call filter for {platform.system()} on {platform.machine()}")
    column, arch = _ARCHITECTURES[platform.machine()]
    code: list[Instruction] = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), *_return(_KILL), (_LOAD, 0, 0, _NUMBER)]
    if column == 0:
        code += _where(_AT_LEAST, 0x40000000, _return(_ENOSYS))  # the x32 numbers of the same calls
    for name, rule in rules.items():
        if (number := syscalls.ALL[name][column]) is not None:
            code += _where(_EQUAL, number, rule)
    free = {n[column] for table in allowed for name, n in table.items() if name not in rules} - {None}
    known = {n[column] for n in syscalls.ALL.values()} | set(range(_YOUNG))
    last = max(n for n in free if n is not None)
    verdicts = [_ALLOW if n in free else _EPERM if n in known else _ENOSYS for n in range(last + 2)]
    # In descending order: the first boundary that a number reaches decides. The kernel itself caches the verdicts
    # that do not depend on arguments, so the length of this list costs nothing.
    for n in range(len(verdicts) - 1, -1, -1):
        if n == 0 or verdicts[n] != verdicts[n - 1]:
            code += _where(_AT_LEAST, n, _return(verdicts[n]))
    code += _return(_EPERM)
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


@functools.cache
def program() -> bytes:
    """The filter for students' code, in the format that ``bwrap --seccomp`` reads.

    Raises RuntimeError on an architecture whose call numbers are not listed here.
    """
    return _compile(syscalls.STUDENT, _student_rules())


def sealed_program(pid: int) -> bytes:
    """The filter that ``seal`` puts on the process with this id. Raises RuntimeError like ``program``."""
    return _compile(syscalls.SEALED, _sealed_rules(pid))


@functools.cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _load(instructions: bytes) -> None:
    """Put a filter irrevocably on all threads of this process and everything they start. Raises OSError."""
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(instructions) // 8, ctypes.addressof(buffer)), 16)
    set_mode_filter, all_threads = 1, 1
    number = syscalls.SECCOMP[_ARCHITECTURES[platform.machine()][0]]
    arguments = ctypes.c_ulong(set_mode_filter), ctypes.c_ulong(all_threads), ctypes.c_void_p(ctypes.addressof(fprog))
    if (result := libc().syscall(ctypes.c_long(number), *arguments)) != 0:
        code = ctypes.get_errno() if result < 0 else errno.EBUSY  # a thread has a filter of its own
        raise OSError(code, "seccomp: " + os.strerror(code))


def install() -> None:
    """Put the students' filter irrevocably on this process. Needs PR_SET_NO_NEW_PRIVS. Raises OSError."""
    _load(program())


def seal() -> bool:
    """Irrevocably restrict this process to computing, reading files, and using its open descriptors.

    From now on these fail with an error: starting programs and processes (threads are allowed), new sockets except
    pairs, signals to others, opening files for writing, changing, making or removing files, new resource limits, and
    everything that is refused to students' code. Call it last: set limits and close unneeded descriptors before.

    Needs no privileges. Returns False, with nothing changed but PR_SET_NO_NEW_PRIVS, if the system has no filters.
    """
    if not supported():
        return False
    pr_set_no_new_privs = 38
    nothing = ctypes.c_ulong(0)
    if libc().prctl(pr_set_no_new_privs, ctypes.c_ulong(1), nothing, nothing, nothing) != 0:
        return False
    try:
        _load(sealed_program(os.getpid()))
    except OSError:
        return False
    return True
