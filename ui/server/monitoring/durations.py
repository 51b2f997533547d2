"""Histograms of the seconds that pages, answers, runs and long computations take, for Prometheus."""

import logging
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from threading import Lock

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
    """Handler of the records of `ui.cache.memoize.logged`: a histogram for each name and outcome."""

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
