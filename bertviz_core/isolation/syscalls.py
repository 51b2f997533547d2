"""A system call filter (seccomp) for bertviz_core.isolation.walls.

It blocks sockets, starting programs and processes, access and signals to other processes, mounts, keys, and changes to
files that Landlock does not cover. Everything else, including threads, is permitted.
"""

import ctypes
import errno
import os
import platform
import struct
from typing import NamedTuple

SET_FILTER, ALL_THREADS, SECCOMP = 1, 1, {"x86_64": 317, "aarch64": 277}
GET_ACTION = 2
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Operations of the kernel's packet filter (linux/bpf_common.h); conditions have the number of lines to skip."""
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data."""
CODES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Architecture -> its number in linux/audit.h."""
X32 = 0x40000000
"""First number of the x32 calls on x86_64."""
THREAD = 0x00010000
"""CLONE_THREAD."""

REFUSED: dict[str, tuple[int, ...]] = {
    "x86_64": (
        *(41, 42, 43, 44, 45, 46, 47, 49, 50, 53, 288, 299, 307),  # sockets
        *(57, 58, 59, 322),  # fork, vfork, execve, execveat
        *(101, 310, 311, 312, 424, 434, 438, 440, 448),  # ptrace, process_vm_*, kcmp, pidfd_*, process_*
        *(129, 200, 297),  # rt_sigqueueinfo, tkill, rt_tgsigqueueinfo
        *(141, 142, 144, 203, 251, 314),  # priorities and processors, possibly of another process
        *(425, 426, 427),  # io_uring, which bypasses this filter
        *(155, 161, 165, 166, 272, 308, 428, 429, 430, 431, 432, 433, 442),  # mounts, roots, namespaces
        *(246, 169, 175, 176, 298, 303, 304, 313, 320, 321, 323),  # kernel modules and settings, file handles
        *(248, 249, 250),  # keys
        *(29, 30, 31, 64, 66, 68, 69, 70, 71, 240),  # shared memory and queues
        *(90, 91, 92, 93, 94, 260, 268, 452),  # chmod, chown
        *(132, 188, 189, 190, 197, 198, 199, 235, 261, 280, 133, 259),  # times, attributes, device files
    ),
    "aarch64": (
        *(198, 199, 200, 201, 202, 203, 206, 207, 211, 212, 242, 243, 269),
        *(221, 281),
        *(117, 270, 271, 272, 424, 434, 438, 440, 448),
        *(130, 138, 240),
        *(118, 119, 122, 140, 30, 274),
        *(425, 426, 427),
        *(39, 40, 41, 51, 97, 268, 428, 429, 430, 431, 432, 433, 442),
        *(104, 105, 106, 142, 241, 264, 265, 273, 280, 282, 294),
        *(217, 218, 219),
        *(180, 186, 187, 188, 189, 190, 191, 194, 195, 196),
        *(52, 53, 54, 55, 452),
        *(5, 6, 7, 14, 15, 16, 33, 88),
    ),
}
"""Machine -> numbers of blocked calls, in the same groups."""


class Conditional(NamedTuple):
    """Calls that are blocked unless their first argument limits them to this process."""

    to_itself: tuple[int, ...]
    """kill, tgkill: the first argument must be this process."""
    of_itself: int
    """prlimit64: the first argument must be 0."""
    clone: int
    """clone: the first argument must have CLONE_THREAD."""
    clone3: int
    """clone3: a filter cannot read its flags, which are in memory; it fails as unknown, and clone is used instead."""


CONDITIONAL = {"x86_64": Conditional((62, 234), 302, 56, 435), "aarch64": Conditional((129, 131), 261, 220, 435)}


def filter_available() -> bool:
    """Whether this system supports filters, and the call numbers of its machine are known here."""
    machine = platform.machine()
    if not hasattr(os, "uname") or os.uname().sysname != "Linux" or machine not in SECCOMP:
        return False
    action = ctypes.c_uint32(REFUSE)
    number, question = ctypes.c_long(SECCOMP[machine]), ctypes.c_uint(GET_ACTION)
    return bool(ctypes.CDLL(None).syscall(number, question, ctypes.c_uint(0), ctypes.byref(action)) == 0)


def refuse_calls() -> None:
    """Block these calls for all threads of this process, with "operation not permitted".

    Requires no_new_privs (bertviz_core.isolation.walls).
    """
    machine = platform.machine()
    lines = program(machine, os.getpid())
    code = ctypes.create_string_buffer(b"".join(lines), 8 * len(lines))
    loaded = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    number, operation, flags = ctypes.c_long(SECCOMP[machine]), ctypes.c_uint(SET_FILTER), ctypes.c_uint(ALL_THREADS)
    if libc.syscall(number, operation, flags, loaded) != 0:
        raise OSError(ctypes.get_errno(), "seccomp refuses its filter")


def program(machine: str, process: int) -> list[bytes]:
    """The instructions of the filter, eight bytes each (struct sock_filter)."""
    refuse = REFUSE | errno.EPERM
    lines = [_line(LOAD, ARCHITECTURE), _line(IF_EQUAL, CODES[machine], 1, 0), _line(RETURN, KILL)]
    lines.append(_line(LOAD, NUMBER))
    if machine == "x86_64":
        lines += [_line(IF_AT_LEAST, X32, 0, 1), _line(RETURN, refuse)]
    for number in REFUSED[machine]:
        lines += [_line(IF_EQUAL, number, 0, 1), _line(RETURN, refuse)]
    own = CONDITIONAL[machine]
    lines += [_line(IF_EQUAL, own.clone3, 0, 1), _line(RETURN, REFUSE | errno.ENOSYS)]
    for number, condition, value in (
        (own.clone, IF_ANY_BIT, THREAD),
        (own.of_itself, IF_EQUAL, 0),
        *((each, IF_EQUAL, process) for each in own.to_itself),
    ):
        lines += [_line(IF_EQUAL, number, 0, 4), _line(LOAD, FIRST_ARGUMENT), _line(condition, value, 0, 1)]
        lines += [_line(RETURN, ALLOW), _line(RETURN, refuse)]
    return [*lines, _line(RETURN, ALLOW)]


def _line(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", operation, if_true, if_false, value)
