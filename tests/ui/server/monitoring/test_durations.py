"""Histograms for Prometheus: what its text format requires, checked by a reader of that format."""

import logging
import re

import pytest
from prometheus_client import generate_latest

from ui.server.monitoring import BUCKETS_S, Durations

LINE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[\d.e+-]+|\+Inf|NaN)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(lines: list[str]) -> Samples:
    """The samples of a text by name and labels, as the format's description has them."""
    samples: Samples = {}
    for line in lines:
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP [a-z_:]+ \S.*|TYPE [a-z_:]+ (counter|gauge|histogram))", line), line
            continue
        found = LINE.fullmatch(line)
        assert found is not None, line
        key = found[1], tuple(sorted(LABEL.findall(found[2] or "")))
        assert key not in samples, f"twice: {line}"
        samples[key] = float(found[3])
    return samples


def lines(handler: Durations) -> list[str]:
    return generate_latest(handler.registry).decode().splitlines()


def counted(*durations: tuple[str, str, float, str]) -> Durations:
    handler = Durations()
    for event, name, seconds, outcome in durations:
        fields = {"event": event, "name": name, "seconds": seconds, "outcome": outcome}
        handler.handle(logging.makeLogRecord({"fields": fields}))
    return handler


def test_a_histogram_has_what_was_counted() -> None:
    """A bucket counts all durations up to its bound, itself included; the last counts all."""
    seconds = [0.01, 0.05, 0.051, 2.5, 1000.0]
    samples = read(lines(counted(*(("page", "words", each, "done") for each in seconds))))
    name, labels = "inside_bert_page_duration_seconds", (("outcome", "done"), ("page", "words"))
    assert samples[f"{name}_count", labels] == 5
    assert samples[f"{name}_sum", labels] == pytest.approx(sum(seconds))
    for bound in (*map(str, BUCKETS_S), "+Inf"):
        expected = sum(each <= float(bound) for each in seconds)
        assert samples[f"{name}_bucket", (("le", bound), *labels)] == expected, bound


def test_names_and_outcomes_are_apart_and_kinds_are_metrics_of_their_own() -> None:
    done, failed = ("run", "trace", 1.0, "done"), ("run", "trace", 1.0, "failed")
    samples = read(lines(counted(done, done, failed, ("question", "lens", 2.0, "done"))))
    counts = {key: value for key, value in samples.items() if key[0].endswith("_count")}
    assert counts == {
        ("inside_bert_run_duration_seconds_count", (("outcome", "done"), ("run", "trace"))): 2,
        ("inside_bert_run_duration_seconds_count", (("outcome", "failed"), ("run", "trace"))): 1,
        ("inside_bert_question_duration_seconds_count", (("outcome", "done"), ("question", "lens"))): 1,
    }


def test_a_record_of_anything_else_is_not_counted() -> None:
    handler = Durations()
    handler.handle(logging.makeLogRecord({"msg": "started"}))
    assert read(lines(handler)) == {}


def test_marks_in_a_label_are_escaped() -> None:
    samples = read(lines(counted(("page", 'say "x\\y"\nnow', 1.0, "done"))))
    assert {labels[-1] for _, labels in samples} == {("page", 'say \\"x\\\\y\\"\\nnow')}
