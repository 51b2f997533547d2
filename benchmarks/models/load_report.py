"""The load report of a checkpoint of 440 MB from its header, against loading it for the same information."""

import json
import math
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import Row, medians_s
from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.models.catalog import find
from bertviz_core.models.skeleton import build_skeleton, quietly
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings

SETTINGS = Settings.from_environment(any_folder=True)
TASK = "sequence-classification"
IO = Path("/proc/self/io")
"""File in which Linux counts the bytes that a process reads."""


def rows() -> list[Row]:
    """Rows of the table for the load report."""
    import transformers

    # As in a running server: torch, transformers and the classes of BERT are in memory.
    source_load_report(resolve("all-MiniLM-L6-v2", SETTINGS), "base", SETTINGS)
    with tempfile.TemporaryDirectory() as folder, quietly():
        size = _write_bert_base(Path(folder))

        def report() -> object:
            return source_load_report(resolve(folder, SETTINGS), TASK, SETTINGS)

        def loaded() -> object:
            auto = transformers.AutoModelForSequenceClassification
            return auto.from_pretrained(folder, output_loading_info=True, ignore_mismatched_sizes=True)

        start = time.perf_counter()
        read = _bytes_read(report)
        first = time.perf_counter() - start
        ours, theirs = medians_s(report, loaded, rounds=5, quick_per_round=3)
    return [
        Row(
            f"load report of a checkpoint of {size / 1e6:.0f} MB",
            f"{ours * 1e3:.0f} ms",
            f"{theirs * 1e3:.0f} ms from_pretrained: {theirs / ours:.0f}x",
            "< 500 ms",
            ours < 0.5,
        ),
        Row("the same, the first of a process", f"{first * 1e3:.0f} ms", "", "< 500 ms", first < 0.5),
        Row("bytes read for it", f"{read / 1e3:.0f} kB", f"{size / 1e6:.0f} MB", "< 1 MB", read < 1_000_000),
    ]


def _bytes_read(work: Callable[[], object]) -> int:
    """Bytes that the process reads from files during some work; those of the header only without a counter."""
    if not IO.exists():
        report = work()
        return int(getattr(report, "header_nbytes", 0))
    before = _counted()
    work()
    return _counted() - before


def _counted() -> int:
    return int(dict(line.split(": ") for line in IO.read_text().splitlines())["rchar"])


def _write_bert_base(folder: Path) -> int:
    """Write a file with the tensors of bert-base-uncased, whose values are a hole; returns its size in bytes."""
    entry = find("bert-base-uncased")
    if entry is None:
        raise ValueError("the catalogue has lost bert-base-uncased")
    header, end = {}, 0
    for name, tensor in build_skeleton("bert-base-uncased", entry.config).state_dict().items():
        begin, end = end, end + 4 * math.prod(tensor.shape)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(raw)) + raw)
        file.truncate(8 + len(raw) + end)
    (folder / "config.json").write_text(json.dumps({**entry.config, "architectures": ["BertModel"]}))
    return 8 + len(raw) + end
