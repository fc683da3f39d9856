"""System calls that student code is refused: a classic-BPF filter for x86-64 and aarch64 Linux.

A sandboxed process already has no capability, no network and no view of foreign files. The filter takes away what
kernel bugs like to hide behind (namespaces, mounts, io_uring, bpf, keyrings, odd socket families) and the memory that
no resource limit counts (memfd, System V). Refused calls fail with an error, they do not kill, so that libraries that
merely try them go on. Numbers: Linux's unistd tables.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct

# name: (x86-64, aarch64); None where the architecture lacks the call
_DENIED = {
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # kernel subsystems with a history
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # administration
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    # memory outside RLIMIT_AS
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
}
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink: the last three find an empty network

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENT0 = 0, 4, 16  # offsets in struct seccomp_data (little endian)
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def _fail(code: int) -> int:
    return _ERRNO | code


def supported() -> bool:
    return platform.system() == "Linux" and platform.machine() in _ARCHITECTURES


@functools.cache
def program() -> bytes:
    """The filter as an array of struct sock_filter, which is also what ``bwrap --seccomp`` reads.

    Raises RuntimeError on an architecture whose call numbers are not listed here.
    """
    if not supported():
        raise RuntimeError(f"no system call filter for {platform.system()} on {platform.machine()}")
    column, arch = _ARCHITECTURES[platform.machine()]
    code: list[tuple[int, int, int, int]] = []

    def unless(test: int, value: int, verdict: int) -> None:  # return the verdict where the test does not hold
        code.extend([(test, 1, 0, value), (_RETURN, 0, 0, verdict)])

    def where(test: int, value: int, verdict: int) -> None:
        code.extend([(test, 0, 1, value), (_RETURN, 0, 0, verdict)])

    code.append((_LOAD, 0, 0, _ARCH))
    unless(_EQUAL, arch, _KILL)
    code.append((_LOAD, 0, 0, _NUMBER))
    if column == 0:
        where(_AT_LEAST, 0x40000000, _fail(errno.ENOSYS))  # the x32 names of the same calls
    for numbers in _DENIED.values():
        if (number := numbers[column]) is not None:
            where(_EQUAL, number, _fail(errno.EPERM))
    # clone3's flags lie in memory where a filter cannot look; without it the C library falls back to clone.
    where(_EQUAL, _CLONE3[column], _fail(errno.ENOSYS))
    code += [(_EQUAL, 0, 4, _CLONE[column]), (_LOAD, 0, 0, _ARGUMENT0)]
    where(_ANY_BIT, _NEW_NAMESPACES, _fail(errno.EPERM))
    code.append((_RETURN, 0, 0, _ALLOW))
    unless(_EQUAL, _SOCKET[column], _ALLOW)
    code.append((_LOAD, 0, 0, _ARGUMENT0))
    for family in _FAMILIES:
        where(_EQUAL, family, _ALLOW)
    code.append((_RETURN, 0, 0, _fail(errno.EAFNOSUPPORT)))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


@functools.cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def install() -> None:
    """Put the filter on this process and all that it forks, for good. Needs PR_SET_NO_NEW_PRIVS. Raises OSError."""
    instructions = program()
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(instructions) // 8, ctypes.addressof(buffer)), 16)
    c = libc()
    pr_set_seccomp, mode_filter = 22, 2
    address = ctypes.c_void_p(ctypes.addressof(fprog))
    if c.prctl(pr_set_seccomp, ctypes.c_ulong(mode_filter), address, ctypes.c_ulong(0), ctypes.c_ulong(0)) < 0:
        number = ctypes.get_errno()
        raise OSError(number, "seccomp: " + os.strerror(number))
