"""Confine a process that reads untrusted files.

Uses no_new_privs, a system call filter (bertviz_core.isolation.syscalls) and Landlock, as far as Linux supports them;
none of them needs root or another package. A process under Landlock cannot inspect the memory or environment of one
that is not. `missing` lists what the system does not support; a supported mechanism that fails is an error.
"""

import ctypes
import os
import struct
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bertviz_core.isolation.syscalls import filter_available, refuse_calls

NO_NEW_PRIVILEGES = 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls of Landlock, the same on all architectures."""
VERSION_FLAG, PATH_BENEATH = 1, 1
READ_FILE, WRITE_FILE, READ_FOLDER, TRUNCATE = 1 << 2, 1 << 1, 1 << 3, 1 << 14
ALL_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Landlock version -> all its file access rights; versions in between have those of the previous one."""
TCP, TCP_VERSION = 0b11, 4
"""Bind and connect, and the first version that supports them."""
SCOPES, SCOPES_VERSION = 0b11, 6
"""Abstract sockets and signals, and the first version that supports them."""
PLACES = (
    *("/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/certs"),
    *(
        "/etc/ssl/openssl.cnf",
        "/etc/pki/tls",
        "/dev/urandom",
        "/proc/self",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/stat",
        "/proc/sys/vm",
        "/sys/devices/system",
        "/sys/fs/cgroup",
    ),
)
"""System files that an interpreter and its libraries read."""
ROOT = Path(__file__).parents[2]
"""The folder of bertviz_core; other files of a checkout are not readable, since they may contain secrets."""


def missing() -> tuple[str, ...]:
    """Names of the mechanisms that this system does not support."""
    walls = (("seccomp", filter_available()), ("Landlock", landlock_version() > 0))
    return tuple(name for name, there in walls if not there)


def landlock_version() -> int:
    """The Landlock version of this system; 0 for none."""
    if sys.platform != "linux":
        return 0
    return max(int(_call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(VERSION_FLAG))), 0)


def confine_process() -> None:
    """Prevent this process from starting others, opening sockets, and accessing other processes."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), "new privileges cannot be given up")
    if filter_available():
        refuse_calls()


def confine_files(read: Iterable[Path] = (), scratch: Path | None = None) -> None:
    """Restrict this process to reading its libraries and some files, and to writing to one folder.

    Args:
        read: further files and folders that it may read.
        scratch: the folder for its temporary files; None for none.
    """
    # Some libraries look up the temporary folder without using it.
    tempfile.tempdir = str(scratch or os.devnull)
    version = landlock_version()
    if not version:
        return
    every = ALL_FILE_RIGHTS[max(known for known in ALL_FILE_RIGHTS if known <= version)]
    known_parts = 1 + (version >= TCP_VERSION) + (version >= SCOPES_VERSION)
    rights = struct.pack("QQQ", every, TCP, SCOPES)[: 8 * known_parts]
    ruleset = _checked(CREATE_RULESET, rights, ctypes.c_size_t(len(rights)), ctypes.c_uint(0))
    try:
        for path in (*_libraries(), *map(Path, PLACES), *read):
            _allow(ruleset, path, (READ_FILE | READ_FOLDER) & every)
        _allow(ruleset, Path(os.devnull), READ_FILE | WRITE_FILE | (TRUNCATE & every))
        if scratch is not None:
            _allow(ruleset, scratch, every)
        _checked(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _libraries() -> list[Path]:
    """Folders of the interpreter, its libraries and this package."""
    beside = Path(msgspec.__file__).parents[1]
    searched = [Path(entry) for entry in sys.path if entry and Path(entry).resolve() != ROOT]
    loaded = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    return [Path(sys.prefix), Path(sys.base_prefix), ROOT / "bertviz_core", beside, *searched, *loaded]


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Grant rights on a file or folder, if it exists."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            rights &= READ_FILE | WRITE_FILE | TRUNCATE
        rule = struct.pack("=Qi", rights, place)
        _checked(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint(0))
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)
    return result


def _checked(number: int, *arguments: object) -> int:
    result = _call(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refuses a rule")
    return result
