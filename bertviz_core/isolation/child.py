"""`python -m bertviz_core.isolation.child`: run a function under limits, for bertviz_core.isolation.run."""

import os
import sys
import time
from contextlib import suppress
from importlib import import_module

from bertviz_core.errors import BertvizError
from bertviz_core.isolation.walls import confine_files, confine_process
from bertviz_core.lazy_imports import import_libraries

with suppress(ModuleNotFoundError):  # Windows, where no child is started, but its constants are read
    import resource

TASKS = frozenset(
    {
        "bertviz_core.architecture.dataflow.derive.answered",
        "bertviz_core.tables.reading.answered",
        "bertviz_core.tables.tagged_words.answered",
        "bertviz_core.tables.vectors.answered",
        "bertviz_core.trace.isolated.chat_template.answered",
        "bertviz_core.trace.isolated.child.answered",
    }
)
"""The functions that may be run, from bytes to bytes."""
CONFINE_THEMSELVES = frozenset(
    {"bertviz_core.architecture.dataflow.derive.answered", "bertviz_core.trace.isolated.child.answered"}
)
"""Those that restrict file access themselves, after a first request names their files; the others may only read
libraries."""
BUILD_MODELS = frozenset({"bertviz_core.architecture.dataflow.derive.answered"})
"""Those that need torch and transformers; what these map is not counted towards the memory."""
LIBRARIES_NBYTES = 640 * 1024**2
"""Address space of torch and transformers where the system does not say what a process has mapped."""
ANSWER, REFUSAL, OUT_OF_MEMORY, TOO_LARGE, OTHER = b"A", b"R", b"M", b"L", b"X"
"""The first byte of an answer: its kind."""
NICE, OPEN_FILES = 10, 64
SERVE, FRAME = "serve", 8
"""The argument for a child that serves many requests; bytes of the length before each request and answer."""


def set_limits(processor_s: int, file_nbytes: int, serves: bool = False) -> None:
    """Limit the resources of this process but its memory; one that serves gets new seconds for each request."""
    os.nice(NICE)
    # If memory runs out, the system kills this process rather than the server.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file_nbytes),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        # On Linux threads count as processes; see bertviz_core.isolation.walls for its protection.
        *([(resource.RLIMIT_NPROC, 0)] if sys.platform == "darwin" else []),
    ):
        _bind(limit, most, most)
    _bind(resource.RLIMIT_CPU, processor_s, resource.RLIM_INFINITY if serves else processor_s + 1)


def limit_memory(memory_nbytes: int) -> None:
    """Limit the address space of this process, what it has mapped included."""
    _bind(resource.RLIMIT_AS, memory_nbytes, memory_nbytes)


def _mapped_nbytes() -> int:
    """Address space of this process with torch and transformers: 0.6 GB, but several with the libraries of CUDA."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return LIBRARIES_NBYTES


def _bind(limit: int, soft: int, hard: int) -> None:
    """Set a limit, but never raise it."""
    _, most = resource.getrlimit(limit)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), most if hard == resource.RLIM_INFINITY else min(hard, most)
    resource.setrlimit(limit, (soft, hard))


def run(task: str, request: bytes, answer_nbytes: int) -> bytes:
    """The answer of a task to a request, after its kind."""
    try:
        module, _, name = task.rpartition(".") if task in TASKS else ("", "", "")
        answer: bytes = getattr(import_module(module), name)(request)
    except BertvizError as error:
        return REFUSAL + f"{type(error).__name__}\0{error}".encode("utf-8", "replace")[:answer_nbytes]
    except MemoryError:
        return OUT_OF_MEMORY
    except BaseException as error:  # an untrusted file may lead to any exception; the parent reports it
        return OTHER + type(error).__name__.encode()
    return ANSWER + answer if len(answer) <= answer_nbytes else TOO_LARGE


def serve(task: str, answer_nbytes: int, processor_s: int, target: int) -> None:
    """Answer requests until the input ends; each is preceded by its length in eight bytes."""
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
    """Run the task given by the arguments; the output of libraries is discarded.

    Nothing of a stranger is read before every limit is set: the input is read last, by `serve` or `run`, and the
    arguments are ours. Until then a child imports our own libraries; one that builds models has no limit of its address
    space meanwhile, since that counts from what they have mapped.
    """
    task, memory_nbytes, processor_s, answer_nbytes, file_nbytes = sys.argv[1], *map(int, sys.argv[2:6])
    serves = sys.argv[6:] == [SERVE]
    set_limits(processor_s, file_nbytes, serves)
    confine_process()
    if task in BUILD_MODELS:
        import_libraries()
        memory_nbytes += _mapped_nbytes()
    limit_memory(memory_nbytes)
    if task not in CONFINE_THEMSELVES:
        confine_files()
    target = os.dup(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    if serves:
        serve(task, answer_nbytes, processor_s, target)
    else:
        _write(target, run(task, sys.stdin.buffer.read(), answer_nbytes))
    os._exit(0)  # without destructors, which could take long


if __name__ == "__main__":
    main()
