"""The process that reads untrusted files has access only to its inputs, where the system supports such restrictions.

Covers `bertviz_core/isolation/syscalls.py`.
"""

import errno
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from bertviz_core.isolation import run, syscalls
from bertviz_core.isolation.child import CONFINE_THEMSELVES, TASKS
from bertviz_core.isolation.run import Limits, run_limited
from bertviz_core.isolation.syscalls import filter_available
from bertviz_core.isolation.walls import landlock_version, missing

TASK = "bertviz_core.tables.reading.answered"
ROOT = Path(run.__file__).parents[2]
LIMITS = Limits(512 * 1024**2, 60, 120.0, 10_000, 2, file_nbytes=1000)
CODE = """
import ctypes, json, os, resource, signal, socket, subprocess, sys, threading
from bertviz_core.isolation import child, walls
def tried(probe):
    try:
        exec(probe, globals())
        return "done"
    except OSError as error:
        return error.errno
def answers(task, request, most):
    return child.ANSWER + json.dumps([tried(each) for each in json.loads(request)]).encode()
child.run = answers
parent = os.getppid()
def process_vm_readv():
    if ctypes.CDLL(None, use_errno=True).process_vm_readv(parent, None, 0, None, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "")
def ptrace():
    if ctypes.CDLL(None, use_errno=True).ptrace(16, 0, None, None) < 0:
        raise OSError(ctypes.get_errno(), "")
"""
CONFINED = "sys.argv[1:] = sys.argv[2:]\nchild.main()"
NO_SECCOMP, NO_LANDLOCK = "walls.filter_available = lambda: False\n", "walls.landlock_version = lambda: 0\n"
FREE = "sys.stdout.buffer.write(child.run('', sys.stdin.buffer.read(), 0))"
PROCESS = (
    "socket.socket()",
    "socket.socket(socket.AF_UNIX)",
    "socket.socketpair()",
    "os.fork() or os._exit(0)",
    "subprocess.run(['/bin/true'])",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "os.kill(parent, 0)",
    "resource.prlimit(parent, resource.RLIMIT_CORE)",
    "os.setpriority(os.PRIO_PROCESS, parent, 19)",
    "os.chmod(FILE, 0o600)",
    "os.utime(FILE)",
    "process_vm_readv()",
    "ptrace()",
)
"""Probes that the system call filter refuses."""
FILES = (
    "open(f'/proc/{parent}/environ', 'rb').read()",
    "open(f'/proc/{parent}/mem', 'rb')",
    "open(f'/proc/{parent}/maps').read()",
    "open(FILE).read()",
    "open(FILE, 'w')",
    "open(FILE + '2', 'w')",
    "os.truncate(FILE, 0)",
    "os.rename(FILE, FILE + '2')",
    "os.unlink(FILE)",
    "os.mkdir(FILE + '3')",
    "os.symlink('/', FILE + '4')",
    "os.listdir('/')",
    "open('/etc/passwd').read()",
)
"""Probes that Landlock refuses."""
LEFT = (
    "thread = threading.Thread(target=int); thread.start(); thread.join()",
    "os.kill(os.getpid(), 0)",
    "open(json.__file__).read()",
    "open(os.devnull, 'w').write('x')",
    "import pandas, pyarrow.parquet",
)
"""Probes that a reader needs."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.toml"
    path.write_text("secret")
    return path


def errors_of(
    monkeypatch: pytest.MonkeyPatch, file: Path, probes: tuple[str, ...], end: str = CONFINED
) -> dict[str, object]:
    """Result of each probe in a child: "done", or the error number."""
    plain = run.command(TASK, LIMITS)
    code = f"{CODE}\nFILE = {str(file)!r}\n{end}"
    # The arguments of the child's own command, after a placeholder for the code of -c.
    monkeypatch.setattr(run, "command", lambda task, limits: [sys.executable, "-s", "-c", code, "", *plain[4:]])
    answers = json.loads(run_limited(TASK, json.dumps(probes).encode(), LIMITS))
    monkeypatch.undo()
    return dict(zip(probes, answers, strict=True))


@pytest.mark.skipif("seccomp" in missing(), reason="this system has no seccomp, or another machine's numbers")
@pytest.mark.parametrize("system", ["", NO_LANDLOCK])
def test_no_process_no_socket_and_nothing_of_another_process(
    monkeypatch: pytest.MonkeyPatch, file: Path, system: str
) -> None:
    assert errors_of(monkeypatch, file, PROCESS, system + CONFINED) == dict.fromkeys(PROCESS, errno.EPERM)


@pytest.mark.skipif("Landlock" in missing(), reason="this kernel has no Landlock, or it is switched off")
@pytest.mark.parametrize("system", ["", NO_SECCOMP])
def test_no_file_but_those_of_the_libraries_and_nothing_of_the_parent(
    monkeypatch: pytest.MonkeyPatch, file: Path, system: str
) -> None:
    answers = errors_of(monkeypatch, file, FILES, system + CONFINED)
    assert set(answers.values()) <= {errno.EPERM, errno.EACCES}, answers
    assert [(each, each.read_text()) for each in file.parent.iterdir()] == [(file, "secret")]


@pytest.mark.skipif(landlock_version() < 6, reason="Landlock knows sockets from version 4, signals from version 6")
def test_landlock_alone_keeps_from_tcp_and_from_signals(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    probes = ("socket.create_connection(('127.0.0.1', 9))", "os.kill(parent, 0)")
    answers = errors_of(monkeypatch, file, probes, NO_SECCOMP + CONFINED)
    assert list(answers.values()) == [errno.EACCES, errno.EPERM]


def test_what_a_reader_needs_is_left(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    assert errors_of(monkeypatch, file, LEFT) == dict.fromkeys(LEFT, "done")


def test_without_walls_the_same_can_be_done(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    probes = (PROCESS[0], *PROCESS[2:6], "open(FILE).read()", "open(FILE + '2', 'w')", "os.listdir('/')")
    assert errors_of(monkeypatch, file, probes, FREE) == dict.fromkeys(probes, "done")


@pytest.mark.skipif("Landlock" in missing(), reason="this kernel has no Landlock, or it is switched off")
def test_a_folder_of_its_own_and_the_files_that_were_named_are_open(tmp_path: Path) -> None:
    named, other, scratch = tmp_path / "named", tmp_path / "other", tmp_path / "scratch"
    scratch.mkdir()
    for path in (named, other):
        path.write_text(path.name)
    code = (
        "import sys, tempfile; from pathlib import Path; from bertviz_core.isolation.walls import confine_files\n"
        f"confine_files([Path({str(named)!r})], Path({str(scratch)!r}))\n"
        f"print(open({str(named)!r}).read(), Path(tempfile.mkdtemp()).parent.name)\n"
        f"for path in ({str(other)!r}, {str(named)!r}):\n"
        "    try: print(open(path, 'a' if path.endswith('named') else 'r'))\n"
        "    except PermissionError: print('refused')\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["named", "scratch", "refused", "refused"]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_filter_lets_a_thread_start_and_nothing_else_of_a_machine(machine: str) -> None:
    lines = [struct.unpack("HBBI", line) for line in syscalls.program(machine, 77)]
    own, code = syscalls.CONDITIONAL[machine], syscalls.CODES[machine]

    def verdict(number: int, first: int = 0, convention: int = code) -> int:
        """Result of the filter's lines, run like in the kernel (linux/filter.h)."""
        fields, loaded, place = {0: number, 4: convention, 16: first}, 0, 0
        while True:
            operation, if_true, if_false, value = lines[place]
            if operation == syscalls.RETURN:
                return value
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}.get(operation)
            loaded = fields[value] if holds is None else loaded
            place += 1 + (0 if holds is None else if_true if holds else if_false)

    refused, allowed = syscalls.REFUSE | errno.EPERM, syscalls.ALLOW
    assert {verdict(number) for number in syscalls.REFUSED[machine]} == {refused}
    assert (verdict(own.clone), verdict(own.clone, 0x3D0F00)) == (refused, allowed)
    assert verdict(own.clone3) == syscalls.REFUSE | errno.ENOSYS
    assert [verdict(each, 77) for each in own.to_itself] == [allowed] * 2
    assert [verdict(each, 1) for each in own.to_itself] == [refused] * 2
    assert (verdict(own.of_itself), verdict(own.of_itself, 1)) == (allowed, refused)
    read = {"x86_64": 0, "aarch64": 63}[machine]
    assert verdict(read) == allowed
    assert verdict(read, convention=0x40000003) == syscalls.KILL
    assert machine == "aarch64" or verdict(0x40000000 + read) == refused


WATCHED = """
import json, resource, sys
from types import SimpleNamespace
from bertviz_core.isolation import child

class Input:
    def read(self, *_):
        limits = {name: resource.getrlimit(getattr(resource, name))[0] for name in LIMITED}
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        try:
            open(OUTSIDE).close()
            walls = "open"
        except PermissionError:
            walls = "closed"
        found = {name: int(status[name]) for name in ("Seccomp", "NoNewPrivs")}
        sys.stderr.write(json.dumps({**limits, **found, "files": walls}))
        sys.stderr.flush()
        return b""

LIMITED, OUTSIDE = sys.argv.pop().split(","), sys.argv.pop()
sys.stdin = SimpleNamespace(buffer=Input())
child.main()
"""
LIMITED = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE")


@pytest.mark.skipif(sys.platform != "linux", reason="its limits are those of Linux")
@pytest.mark.parametrize("serves", [False, True], ids=["once", "serves"])
@pytest.mark.parametrize(
    "task", [TASK, *(pytest.param(each, marks=pytest.mark.slow) for each in sorted(TASKS - {TASK}))]
)
def test_every_limit_is_set_before_the_first_byte_of_a_stranger(task: str, serves: bool, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    numbers = ["2000000000", "7", "1000", "4096"]
    arguments = [task, *numbers, *(["serve"] if serves else []), str(outside), ",".join(LIMITED)]
    done = subprocess.run([sys.executable, "-c", WATCHED, *arguments], capture_output=True, text=True, check=True)
    found, _ = json.JSONDecoder().raw_decode(done.stderr)
    assert 2_000_000_000 <= found["RLIMIT_AS"] < 2**63 - 1
    assert (found["RLIMIT_CPU"], found["RLIMIT_FSIZE"], found["RLIMIT_CORE"]) == (7, 4096, 0)
    assert found["RLIMIT_NOFILE"] <= 64
    assert found["NoNewPrivs"] == 1
    assert found["Seccomp"] == (2 if filter_available() else 0)
    assert found["files"] == ("open" if task in CONFINE_THEMSELVES or "Landlock" in missing() else "closed")
