"""Metrics, readiness, log."""

import asyncio
import json
import logging
import os
import re
import sys
import tempfile
import time
import traceback
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from socket import AF_INET, AF_INET6
from threading import Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Any

from starlette.responses import JSONResponse

from bertviz_core.checkpoints.values import open_checkpoint
from bertviz_core.errors import BertvizError
from bertviz_core.models.sources import resolve
from bertviz_core.resources import ByteCache
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.version import __version__
from ui.cache import figures, jobs, models
from ui.cache.figures import ACTIVITY
from ui.cache.models import TraceCache
from ui.server.start import App, Message, Receive, Send
from ui.server.streamlit_internals import connected_sessions, log_bare_messages
from ui.session import settings, stored

BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets in seconds; a further one has no bound."""
EVENTS = {
    "page": "Seconds until a page was drawn.",
    "question": "Seconds to compute an answer that was not cached.",
    "run": "Seconds to run a model on a text, without the time in the queue.",
    "job": "Seconds of a long computation, without the time in the queue.",
}
"""Kind of a computation -> description of its histogram."""


def sample(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    """A line of Prometheus' text format: name, labels and value."""
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in (labels or {}).items())
    shown = str(int(value)) if float(value).is_integer() else repr(float(value))
    return f"{name}{{{inside}}} {shown}" if inside else f"{name} {shown}"


def family(name: str, kind: str, description: str, samples: Iterable[str]) -> list[str]:
    """The lines of a metric: its description, its type and its samples; none without samples."""
    lines = list(samples)
    return [f"# HELP {name} {description}", f"# TYPE {name} {kind}", *lines] if lines else []


class DurationHistogram:
    """Number of durations in each bucket, and their sum in seconds."""

    def __init__(self) -> None:
        """An empty histogram."""
        self.counts, self.sum_s = [0] * (len(BUCKETS_S) + 1), 0.0

    def add(self, seconds: float) -> None:
        """Count a duration; a bucket contains its upper bound."""
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.sum_s += seconds

    def lines(self, name: str, labels: Mapping[str, str]) -> list[str]:
        """Its samples: cumulative counts by bucket, the last equal to the count of all, and the sum."""
        bounds = [*map(repr, BUCKETS_S), "+Inf"]
        counted = zip(bounds, accumulate(self.counts), strict=True)
        buckets = [sample(f"{name}_bucket", count, {**labels, "le": bound}) for bound, count in counted]
        return [*buckets, sample(f"{name}_sum", self.sum_s, labels), sample(f"{name}_count", sum(self.counts), labels)]


class Durations(logging.Handler):
    """Handler of the records of `ui.cache.figures.logged`: a histogram for each name and outcome."""

    def __init__(self) -> None:
        """No durations yet."""
        super().__init__()
        self._histograms: dict[tuple[str, str, str], DurationHistogram] = {}
        self._counting = Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record; one without fields is ignored."""
        fields = getattr(record, "fields", None)
        if fields is None:
            return
        key = str(fields["event"]), str(fields["name"]), str(fields["outcome"])
        with self._counting:
            self._histograms.setdefault(key, DurationHistogram()).add(float(fields["seconds"]))

    def lines(self) -> list[str]:
        """The histograms of all kinds of computations in Prometheus' text format."""
        with self._counting:
            written: list[str] = []
            for event, description in EVENTS.items():
                name = f"inside_bert_{event}_duration_seconds"
                mine = sorted((key, each) for key, each in self._histograms.items() if key[0] == event)
                labelled = [({event: key[1], "outcome": key[2]}, each) for key, each in mine]
                samples = [line for labels, each in labelled for line in each.lines(name, labels)]
                written += family(name, "histogram", description, samples)
            return written


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


READINESS_PATH = "/ready"
VALID_S = 5.0
"""Seconds for which an answer is repeated, so that frequent requests cost nothing."""
LEAST_FREE_BYTES = 128 * 1024**2
"""Least free memory of a server that takes readers."""
WRITTEN_BYTES = 4096
MEMORY, OWN_GROUPS, CGROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
OK = "ok"


class Readiness:
    """ASGI middleware that answers `/ready` under any host name, as `/_stcore/health` does.

    The status is 200 if all checks pass and 503 otherwise; the body is a JSON object with the result of each check.
    """

    def __init__(self, app: App, settings: Settings, base_path: str = "") -> None:
        self.app, self.settings = app, settings
        self.path = f"/{base_path.strip('/')}".rstrip("/") + READINESS_PATH

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["path"] != self.path or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        checks = await asyncio.to_thread(recent_checks, self.settings)
        ready = is_ready(checks)
        headers = {"cache-control": "no-store"}
        response = JSONResponse({"ready": ready, "checks": checks}, 200 if ready else 503, headers)
        await response(scope, receive, send)


def is_ready(checks: dict[str, str]) -> bool:
    """Whether all checks passed."""
    return all(result == OK for result in checks.values())


def recent_checks(settings: Settings) -> dict[str, str]:
    """The results of `check_all`, at most five seconds old."""
    with _lock:
        at, checks = _latest.get(settings, (-VALID_S, {}))
        if monotonic() - at >= VALID_S or not checks:
            checks = check_all(settings)
            _latest.clear()
            _latest[settings] = monotonic(), checks
        return checks


def check_all(settings: Settings) -> dict[str, str]:
    """Name of a check -> "ok", or why it failed: the bundled model, temporary files and memory."""
    free = free_nbytes()
    return {
        "model": _check_model(settings),
        "temporary_files": _check_temporary_files(),
        "memory": OK if free is None or free >= LEAST_FREE_BYTES else "less than 128 MiB are free",
    }


def free_nbytes() -> int | None:
    """Free memory in bytes: the least of the machine and the control groups (version 2) of this process.

    Memory that caches files, and would be given back, counts as free. None where the system does not say.
    """
    free = [1024 * int(line.split()[1]) for line in _lines(MEMORY) if line.startswith("MemAvailable:")]
    for line in _lines(OWN_GROUPS):
        if not line.startswith("0::"):
            continue
        inside = CGROUPS / line.removeprefix("0::").strip("/")
        for group in (inside, *inside.parents):
            limit, used = "".join(_lines(group / "memory.max")), "".join(_lines(group / "memory.current"))
            if limit.isdigit() and used.isdigit():
                stat = dict(line.split() for line in _lines(group / "memory.stat"))
                free.append(int(limit) - int(used) + int(stat.get("inactive_file", 0)))
            if group == CGROUPS:
                break
    return min(free, default=None)


def _check_model(settings: Settings) -> str:
    """Resolve the bundled model and read the header of its weights."""
    try:
        unlimited = replace(settings, allowed_models=(), allow_hub=False)
        open_checkpoint(resolve(DEFAULT_MODEL, unlimited), unlimited)
    except (BertvizError, OSError):
        return "the bundled model cannot be opened"
    return OK


def _check_temporary_files() -> str:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(WRITTEN_BYTES))
            file.flush()
    except OSError:
        return "no file can be written to the folder for temporary files"
    return OK


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []


_latest: dict[Settings, tuple[float, dict[str, str]]] = {}
_lock = Lock()


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PATH = "/metrics"
SILENT_S = 10.0
"""Seconds after which a silent connection is closed."""
STATUS = Path("/proc/self/statm")
STARTED_AT = time.time()
DURATIONS = Durations()


def start_metrics(settings: Settings) -> "MetricsServer | None":
    """Serve the metrics in the background until the process ends; None if the settings name no port."""
    if settings.metrics_port is None:
        return None
    try:
        server = MetricsServer(settings)
    except OSError as error:
        raise BertvizError(
            f"The metrics cannot be served on port {settings.metrics_port} of {settings.metrics_address} "
            f"({error.strerror}): set INSIDE_BERT_METRICS_PORT or INSIDE_BERT_METRICS_ADDRESS to a free one."
        ) from error
    figures.ACTIVITY.addHandler(DURATIONS)
    figures.ACTIVITY.setLevel(logging.INFO)
    figures.ACTIVITY.propagate = False
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


class MetricsServer(ThreadingHTTPServer):
    """An HTTP server that answers `/metrics` and nothing else."""

    daemon_threads = True

    def __init__(self, settings: Settings) -> None:
        """Bind the address and the port of the settings; raises OSError if they cannot be bound."""
        self.settings = settings
        self.address_family = AF_INET6 if ":" in settings.metrics_address else AF_INET
        super().__init__((settings.metrics_address, settings.metrics_port or 0), MetricsRequest)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that leave; the traceback would be no JSON."""


class MetricsRequest(BaseHTTPRequestHandler):
    """A request to the metrics' port."""

    server: MetricsServer
    timeout = SILENT_S
    server_version, sys_version = "inside-bert", ""

    def do_GET(self) -> None:  # the name that http.server calls
        """Answer with the metrics, or 404."""
        is_known = self.path.partition("?")[0] == PATH
        body = exposition(self.server.settings).encode() if is_known else b"The metrics are at /metrics.\n"
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", CONTENT_TYPE if is_known else "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests."""


def exposition(settings: Settings) -> str:
    """All metrics of this server in Prometheus' text format."""
    return "\n".join([*_gauges(settings), *_process(), *DURATIONS.lines()]) + "\n"


def _gauges(settings: Settings) -> Iterator[str]:
    version = sample("inside_bert_build_info", 1, {"version": __version__})
    yield from family("inside_bert_build_info", "gauge", "The version of this server.", [version])
    ready = sample("inside_bert_ready", is_ready(recent_checks(settings)))
    yield from family("inside_bert_ready", "gauge", "1 if the server can serve a reader, as /ready.", [ready])
    sessions = sample("inside_bert_sessions", connected_sessions())
    yield from family("inside_bert_sessions", "gauge", "Sessions with a connected browser.", [sessions])
    runs = RUN_LOCK.length
    states = {"running": min(runs, 1), "waiting": max(runs - 1, 0)}
    lines = [sample("inside_bert_runs", number, {"state": state}) for state, number in states.items()]
    yield from family("inside_bert_runs", "gauge", "Runs of a model, of which one runs at a time.", lines)
    board = jobs.board()
    lines = [sample("inside_bert_jobs", board.count(each), {"state": each}) for each in ("running", "waiting")]
    yield from family("inside_bert_jobs", "gauge", "Long computations.", lines)
    yield from _caches(settings)


def _caches(settings: Settings) -> Iterator[str]:
    caches: dict[str, ByteCache | TraceCache] = {
        "models": models.loaded_models(),
        "results": figures.results(),
        "traces": models.traces(),
    }
    limits = {
        "models": settings.max_loaded_bytes,
        "results": settings.max_cache_bytes,
        "traces": settings.max_trace_bytes,
    }
    rows = [
        ("bytes", "Bytes of the values in a cache.", {name: each.nbytes for name, each in caches.items()}),
        ("limit_bytes", "Bytes that the values in a cache may take.", limits),
        ("entries", "Values in a cache.", {name: len(each) for name, each in caches.items()}),
    ]
    for unit, description, values in rows:
        name = f"inside_bert_cache_{unit}"
        lines = [sample(name, value, {"cache": cache}) for cache, value in values.items()]
        yield from family(name, "gauge", description, lines)


def _process() -> Iterator[str]:
    """The metrics of the process that Prometheus' own clients have, by their names."""
    spent = os.times()
    cpu = sample("process_cpu_seconds_total", spent.user + spent.system)
    yield from family("process_cpu_seconds_total", "counter", "Processor seconds of the process.", [cpu])
    started = sample("process_start_time_seconds", STARTED_AT)
    yield from family("process_start_time_seconds", "gauge", "Start of the process, Unix time.", [started])
    if sys.platform == "linux":
        nbytes = int(STATUS.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        resident = sample("process_resident_memory_bytes", nbytes)
        yield from family("process_resident_memory_bytes", "gauge", "Resident memory of the process.", [resident])


LOG = logging.getLogger("inside_bert")
QUERY = re.compile(r"\?[^\s\"']*=[^\s\"']*")
"""What follows the question mark of an address; a shared link may carry a text."""
DEEPEST = 8
"""Lines of code that are logged of a traceback, the innermost."""


class JsonRecord(logging.LogRecord):
    """A record whose message is a JSON object: time in UTC, level, logger, and the fields or the message."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create a record; used by `logging`."""
        super().__init__(*args, **kwargs)
        self.raised, self.exc_info = self.exc_info, None  # a formatter would append the traceback with its message

    def getMessage(self) -> str:  # noqa: N802  # the name that logging calls
        """The line of the log."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(self.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": self.levelname.lower(),
            "logger": self.name,
        }
        fields = getattr(self, "fields", None)
        line |= fields if fields is not None else {"message": QUERY.sub("", super().getMessage())}
        if self.raised and self.raised[1] is not None:
            line |= {"error": type(self.raised[1]).__name__, "at": _lines_of_code(self.raised[2])}
        return json.dumps(line, ensure_ascii=True, default=str)


def start_log(chosen: Settings) -> None:
    """Write all further records as JSON to standard error, if the settings ask for it; otherwise change nothing."""
    if chosen.log_format != "json":
        return
    logging.setLogRecordFactory(JsonRecord)
    log_bare_messages()
    handler = logging.StreamHandler(sys.stderr)
    for logger in (ACTIVITY, LOG):
        logger.addHandler(handler)
        logger.propagate = False
    ACTIVITY.setLevel(logging.INFO)


def notify(notice: str, chosen: Settings) -> None:
    """Write a warning of the server's start to its log; "" writes nothing."""
    if chosen.log_format == "json":
        if notice:
            LOG.warning("%s", notice.strip())
    else:
        sys.stderr.write(notice)


def model_fact() -> dict[str, object]:
    """The reader's model, for the log of a page.

    Names of models on this machine only; a reader may have typed anything else.
    """
    try:
        return {"model": resolve(str(stored("model") or DEFAULT_MODEL), replace(settings(), allow_hub=False)).name}
    except (BertvizError, OSError, ValueError):
        return {"model": ""}


def _lines_of_code(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)[-DEEPEST:]]
