"""`python -m bertviz_core.isolation.child`: one function under limits, for bertviz_core.isolation.run."""

import os
import sys
import time
from contextlib import suppress
from importlib import import_module

from bertviz_core.errors import BertvizError
from bertviz_core.isolation.walls import confine_files, confine_process

TASKS = frozenset(
    {
        "bertviz_core.architecture.dataflow.trial.answered",
        "bertviz_core.tables.reading.answered",
        "bertviz_core.trace.isolated.child.answered",
    }
)
"""The functions that may be asked for by name: bytes in, bytes out."""
CONFINE_THEMSELVES = frozenset(
    {"bertviz_core.architecture.dataflow.trial.answered", "bertviz_core.trace.isolated.child.answered"}
)
"""Those whose first request names the files that are theirs; to the others none but their libraries are open."""
ANSWER, REFUSAL, OUT_OF_MEMORY, TOO_LARGE, OTHER = b"A", b"R", b"M", b"L", b"X"
"""The first byte that a child writes: what the rest is."""
NICE, OPEN_FILES = 10, 64
SERVE, FRAME = "serve", 8
"""The argument of a child that answers more than once; the bytes that tell the length of a request or an answer."""


def set_limits(memory_nbytes: int, processor_s: int, file_nbytes: int, serves: bool = False) -> None:
    """Bind this process for good; the seconds of one that serves are set anew for each request."""
    import resource

    os.nice(NICE)
    # Where memory is short, the system ends this process and not the server.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file_nbytes),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_AS, memory_nbytes),
        # Elsewhere threads count as processes, and Linux has a better wall (bertviz_core.isolation.walls).
        *([(resource.RLIMIT_NPROC, 0)] if sys.platform == "darwin" else []),
    ):
        _bind(limit, most, most)
    _bind(resource.RLIMIT_CPU, processor_s, resource.RLIM_INFINITY if serves else processor_s + 1)


def _bind(limit: int, soft: int, hard: int) -> None:
    """Set a limit, never above one that is set already."""
    import resource

    _, most = resource.getrlimit(limit)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), most if hard == resource.RLIM_INFINITY else min(hard, most)
    resource.setrlimit(limit, (soft, hard))


def run(task: str, request: bytes, answer_nbytes: int) -> bytes:
    """What a task answers to a request, its kind in front."""
    try:
        module, _, name = task.rpartition(".") if task in TASKS else ("", "", "")
        answer: bytes = getattr(import_module(module), name)(request)
    except BertvizError as error:
        return REFUSAL + f"{type(error).__name__}\0{error}".encode("utf-8", "replace")[:answer_nbytes]
    except MemoryError:
        return OUT_OF_MEMORY
    except BaseException as error:  # a stranger's file may lead to anything; the parent says so in a sentence
        return OTHER + type(error).__name__.encode()
    return ANSWER + answer if len(answer) <= answer_nbytes else TOO_LARGE


def serve(task: str, answer_nbytes: int, processor_s: int, target: int) -> None:
    """Answer one request after the other until there are no more; each is its length in eight bytes, and itself."""
    import resource

    while len(length := sys.stdin.buffer.read(FRAME)) == FRAME:
        request = sys.stdin.buffer.read(int.from_bytes(length, "big"))
        _bind(resource.RLIMIT_CPU, int(time.process_time()) + 1 + processor_s, resource.RLIM_INFINITY)
        answer = run(task, request, answer_nbytes)
        _write(target, len(answer).to_bytes(FRAME, "big") + answer)


def _write(target: int, answer: bytes) -> None:
    written = memoryview(answer)
    while written:
        written = written[os.write(target, written) :]


def main() -> None:
    """Run the task that the arguments name; what libraries print goes nowhere."""
    task, memory_nbytes, processor_s, answer_nbytes, file_nbytes = sys.argv[1], *map(int, sys.argv[2:6])
    serves = sys.argv[6:] == [SERVE]
    set_limits(memory_nbytes, processor_s, file_nbytes, serves)
    confine_process()
    if task not in CONFINE_THEMSELVES:
        confine_files()
    target = os.dup(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    if serves:
        serve(task, answer_nbytes, processor_s, target)
    else:
        _write(target, run(task, sys.stdin.buffer.read(), answer_nbytes))
    os._exit(0)  # nothing of a stranger's is taken apart in an orderly way, which could take long


if __name__ == "__main__":
    main()
