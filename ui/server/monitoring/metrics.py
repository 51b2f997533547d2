"""Serve metrics in Prometheus' text format on a port of their own.

They contain numbers, and names of pages, questions and caches; no texts, models or visitors.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6
from threading import Thread

from bertviz_core.errors import BertvizError
from bertviz_core.resources import ByteCache
from bertviz_core.settings import Settings
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.version import __version__
from ui.cache import jobs, memoize, models
from ui.cache.traces import TraceCache
from ui.server.monitoring.durations import Durations, family, sample
from ui.server.monitoring.readiness import is_ready, recent_checks
from ui.server.streamlit_internals import connected_sessions

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PATH = "/metrics"
SILENT_S = 10.0
"""Seconds after which a silent connection is closed."""
STATUS = Path("/proc/self/statm")
STARTED_AT = time.time()
DURATIONS = Durations()


def start_metrics(settings: Settings) -> "MetricsServer | None":
    """Serve the metrics in the background until the process ends; None if the settings name no port.

    Raises:
        BertvizError: the address or the port cannot be used.
    """
    if settings.metrics_port is None:
        return None
    try:
        server = MetricsServer(settings)
    except OSError as error:
        raise BertvizError(
            f"The metrics cannot be served on port {settings.metrics_port} of {settings.metrics_address} "
            f"({error.strerror}): set INSIDE_BERT_METRICS_PORT or INSIDE_BERT_METRICS_ADDRESS to a free one."
        ) from error
    memoize.ACTIVITY.addHandler(DURATIONS)
    memoize.ACTIVITY.setLevel(logging.INFO)
    memoize.ACTIVITY.propagate = False
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
        "results": memoize.results(),
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
