"""Metrics, readiness, log."""

import asyncio
import json
import logging
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6
from threading import Lock, Thread
from time import monotonic
from typing import Any

from prometheus_client import CollectorRegistry, Histogram, MetricsHandler, ProcessCollector, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

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


disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotations


class Durations(logging.Handler):
    """Handler of the records of `ui.cache.figures.logged`: a histogram for each name and outcome."""

    def __init__(self) -> None:
        """No durations yet."""
        super().__init__()
        self.registry = CollectorRegistry()
        self._histograms = {
            event: Histogram(
                f"inside_bert_{event}_duration_seconds",
                description,
                (event, "outcome"),
                registry=self.registry,
                buckets=BUCKETS_S,
            )
            for event, description in EVENTS.items()
        }

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record; one without fields is ignored."""
        fields = getattr(record, "fields", None)
        if fields is not None and fields["event"] in self._histograms:
            labels = str(fields["name"]), str(fields["outcome"])
            self._histograms[fields["event"]].labels(*labels).observe(float(fields["seconds"]))


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

    def __init__(self, app: ASGIApp, settings: Settings, base_path: str = "") -> None:
        self.app, self.settings = app, settings
        self.path = f"/{base_path.strip('/')}".rstrip("/") + READINESS_PATH

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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


PATH = "/metrics"
SILENT_S = 10.0
"""Seconds after which a silent connection is closed."""
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
        self.address_family = AF_INET6 if ":" in settings.metrics_address else AF_INET
        handler = MetricsRequest.factory(metrics(settings))
        super().__init__((settings.metrics_address, settings.metrics_port or 0), handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that leave; the traceback would be no JSON."""


class MetricsRequest(MetricsHandler):
    """A request to the metrics' port."""

    timeout = SILENT_S
    server_version, sys_version = "inside-bert", ""

    def do_GET(self) -> None:  # noqa: N802  # the name that http.server calls
        """Answer with the metrics, or 404."""
        if self.path.partition("?")[0] == PATH:
            super().do_GET()
        else:
            self.send_error(404, "The metrics are at /metrics")


def metrics(settings: Settings) -> CollectorRegistry:
    """All metrics of this server."""
    registry = CollectorRegistry()
    registry.register(ServerState(settings))
    registry.register(DURATIONS.registry)
    ProcessCollector(registry=registry)
    return registry


class ServerState(Collector):
    """Readiness, sessions, runs, jobs and caches at the moment when they are collected."""

    def __init__(self, settings: Settings) -> None:
        """Limits are those of the settings."""
        self.settings = settings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges of the server."""
        settings, runs, board = self.settings, RUN_LOCK.length, jobs.board()
        yield _gauge("build_info", "The version of this server.", {__version__: 1}, "version")
        ready = is_ready(recent_checks(settings))
        yield _gauge("ready", "1 if the server can serve a reader, as /ready.", {"": ready})
        yield _gauge("sessions", "Sessions with a connected browser.", {"": connected_sessions()})
        states = {"running": min(runs, 1), "waiting": max(runs - 1, 0)}
        yield _gauge("runs", "Runs of a model, of which one runs at a time.", states, "state")
        yield _gauge(
            "jobs", "Long computations.", {each: board.count(each) for each in ("running", "waiting")}, "state"
        )
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
        nbytes = {name: each.nbytes for name, each in caches.items()}
        yield _gauge("cache_bytes", "Bytes of the values in a cache.", nbytes, "cache")
        yield _gauge("cache_limit_bytes", "Bytes that the values in a cache may take.", limits, "cache")
        yield _gauge("cache_entries", "Values in a cache.", {name: len(each) for name, each in caches.items()}, "cache")


def _gauge(name: str, description: str, values: Mapping[str, float], label: str = "") -> GaugeMetricFamily:
    """A gauge with a value for each value of its label; without a label, that of ""."""
    family = GaugeMetricFamily(f"inside_bert_{name}", description, labels=[label] if label else [])
    for each, value in values.items():
        family.add_metric([each] if label else [], value)
    return family


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
            frames = traceback.extract_tb(self.raised[2])[-DEEPEST:]
            places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
            line |= {"error": type(self.raised[1]).__name__, "at": places}
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
        logger.setLevel(logging.INFO)


def notify(notice: str, chosen: Settings, level: int = logging.WARNING) -> None:
    """Write a sentence about the server's start to its log, a warning by default; "" writes nothing."""
    if chosen.log_format == "json":
        if notice:
            LOG.log(level, "%s", notice.strip())
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
