"""The metrics' port: off unless asked for, on the machine itself alone by default, and Prometheus' rules for names."""

import re
import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from prometheus_client import generate_latest

from bertviz_core.errors import BertvizError
from bertviz_core.settings import Settings
from bertviz_core.trace.run import RUN_LOCK
from tests.ui.server.monitoring.test_durations import Samples, read
from ui.cache.figures import ACTIVITY, logged, results
from ui.server.monitoring import DURATIONS, EVENTS, MetricsServer, metrics, start_metrics

SETTINGS = Settings.from_environment()


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def server(port: int) -> Iterator[MetricsServer]:
    """Metrics on a free port."""
    before = ACTIVITY.level, ACTIVITY.propagate
    started = start_metrics(replace(SETTINGS, metrics_port=port))
    assert started is not None
    yield started
    started.shutdown()
    started.server_close()
    ACTIVITY.removeHandler(DURATIONS)
    ACTIVITY.setLevel(before[0])
    ACTIVITY.propagate = before[1]


def lines() -> list[str]:
    return generate_latest(metrics(SETTINGS)).decode().splitlines()


def now() -> Samples:
    return read(lines())


def test_without_a_port_there_are_no_metrics() -> None:
    assert SETTINGS.metrics_port is None
    assert start_metrics(SETTINGS) is None


def test_the_port_answers_on_the_machine_itself_alone(server: MetricsServer, port: int) -> None:
    assert server.server_address[0] == "127.0.0.1"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        body = answer.read().decode()
    assert body.endswith("\n")
    assert len(read(body.splitlines())) > 15


def test_a_port_in_use_is_one_sentence(server: MetricsServer, port: int) -> None:
    with pytest.raises(BertvizError, match=rf"port {port} of 127\.0\.0\.1 .*INSIDE_BERT_METRICS_PORT"):
        start_metrics(replace(SETTINGS, metrics_port=port))


def test_names_and_units_are_those_that_prometheus_asks_for(server: MetricsServer) -> None:
    """A prefix, base units at the end, `_total` for counters alone, and each metric described before its samples."""
    with logged("page", "words"):
        pass
    kinds: dict[str, str] = {}
    for line in lines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            kinds[name] = kind
        elif not line.startswith("#"):
            name = re.split(r"[{ ]", line)[0]
            assert re.sub(r"_(bucket|sum|count)$", "", name) in kinds, line
    assert all(name.startswith(("inside_bert_", "process_")) for name in kinds)
    assert {name for name, kind in kinds.items() if kind == "counter"} == {
        name for name in kinds if name.endswith("_total")
    }
    assert {name for name, kind in kinds.items() if kind == "histogram"} == {
        f"inside_bert_{event}_duration_seconds" for event in EVENTS
    }
    assert not [name for name in kinds if re.search(r"milli|micro|minutes|kilo|mega|mib|percent", name)]


def test_the_queue_has_the_runs_that_wait_and_the_one_that_goes_on() -> None:
    running, waiting = (("state", "running"),), (("state", "waiting"),)
    assert now()["inside_bert_runs", running] == 0
    with RUN_LOCK.place(), RUN_LOCK.place(), RUN_LOCK.place():
        assert now()["inside_bert_runs", running] == 1
        assert now()["inside_bert_runs", waiting] == 2
    assert now()["inside_bert_runs", waiting] == 0


def test_a_cache_has_the_bytes_of_its_values() -> None:
    cached = ("inside_bert_cache_bytes", (("cache", "results"),))
    before = now()[cached]
    results().put("an array", np.zeros(10_000, np.float32), 40_000)
    assert now()[cached] - before == 40_000
    results().pop("an array")
    assert now()[cached] == before
    assert now()["inside_bert_cache_limit_bytes", (("cache", "results"),)] == SETTINGS.max_cache_bytes
