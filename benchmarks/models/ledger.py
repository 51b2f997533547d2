"""The parameter ledger: bundled checkpoint against loading and summing, and a header of 100,000 tensors."""

import gc
import json
import math
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import Row, median_s, medians_s
from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.parameters import parameter_tree_figure
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.safetensors.folder import INDEX_FILE, read_header
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.parameters.tree import parameter_tree
from bertviz_core.settings import Settings

TENSORS, MANY = 100_000, 1_000_000
SETTINGS = Settings.from_environment(any_folder=True)


def rows() -> list[Row]:
    """Rows of the table for the ledger."""
    return [*_bundled_rows(), *_mixture_rows(), _refused_row()]


def _bundled_rows() -> list[Row]:
    source = resolve("all-MiniLM-L6-v2", SETTINGS)

    start = time.perf_counter()
    import torchinfo
    import transformers

    imports = time.perf_counter() - start

    def loaded() -> int:
        model = transformers.AutoModel.from_pretrained(bundled_folder(), use_safetensors=True)
        return sum(parameter.numel() for parameter in model.parameters())

    def summarised() -> object:
        model = transformers.AutoModel.from_pretrained(bundled_folder(), use_safetensors=True)
        return torchinfo.summary(model, verbose=0)

    transformers.logging.set_verbosity_error()
    gc.freeze()  # like the server after its imports; otherwise each collection would visit all imported objects

    def ledger() -> object:
        return source_ledger(source, SETTINGS)

    total, load = medians_s(lambda: _total(bundled_folder()), loaded, rounds=15, quick_per_round=200)
    ours, load_again = medians_s(ledger, loaded, rounds=15, quick_per_round=200)
    header = median_s(lambda: read_header(bundled_folder()), runs=200)
    ours_again, summary = medians_s(ledger, summarised, rounds=9, quick_per_round=200)
    budget = ">= 100x faster"
    imported = f"(+ {imports:.1f} s of imports)"
    return [
        _against(
            "total of the bundled checkpoint from its header",
            total,
            load,
            f"from_pretrained and sum {imported}",
            budget,
        ),
        _against(
            "whole ledger of it: rows, layers, components",
            ours,
            load_again,
            f"from_pretrained and sum {imported}",
            budget,
            f"; {header * 1e3:.2f} ms of it read the header",
        ),
        _against("the same", ours_again, summary, "from_pretrained and torchinfo", budget),
    ]


def _against(work: str, ours: float, theirs: float, peer: str, budget: str, part: str = "") -> Row:
    alternative = f"{theirs * 1e3:.0f} ms {peer}: {theirs / ours:.0f}x{part}"
    return Row(work, f"{ours * 1e3:.2f} ms", alternative, budget, theirs / ours >= 100)


def _total(folder: Path) -> int:
    """Result of the peer's sum from the header: the sizes of all floating-point tensors."""
    return sum(math.prod(tensor.shape) for tensor in read_header(folder).tensors if "float" in tensor.dtype)


def _mixture_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        _write_mixture(Path(folder))
        source = folder_source("mixture", Path(folder))
        seconds = median_s(lambda: source_ledger(source, SETTINGS), runs=5)
        header = median_s(lambda: read_header(Path(folder)), runs=5)
        ledger = source_ledger(source, SETTINGS)
    size = len(parameter_tree_figure(parameter_tree(ledger, 4), "mixture", "sunburst", LIGHT).to_json())
    return [
        Row(
            f"ledger of a header of {ledger.tensors:,} tensors",
            f"{seconds:.2f} s",
            f"none draws it; {header:.2f} s of it read and check the headers",
            "<= 1.5 s",
            seconds <= 1.5,
        ),
        Row("its figure", f"{size / 1e6:.2f} MB", "none draws it", "< 1 MB", size < 1_000_000),
    ]


def _refused_row() -> Row:
    """A header beyond the limit: until it is drawn or refused, and how long another thread waits meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        _write_many(Path(folder))
        source = folder_source("mixture", Path(folder))
        with longest_wait() as waited:
            start = time.perf_counter()
            try:
                source_ledger(source, SETTINGS)
                what = "drawn"
            except BertvizError as error:
                what = f"refused: {error}"
            seconds = time.perf_counter() - start
    beside = f"{what}; another thread waits {waited[0]:.2f} s at most"
    met = seconds <= 5 and waited[0] <= 1
    return Row(f"header of {MANY:,} tensors", f"{seconds:.2f} s", beside, "<= 5 s, nobody waits over 1 s", met)


@contextmanager
def longest_wait() -> Iterator[list[float]]:
    """Yield a list of one number: the most seconds that another thread, which wakes up every 10 ms, came late."""
    ended, waited = threading.Event(), [0.0]

    def watch() -> None:
        last = time.perf_counter()
        while not ended.wait(0.01):
            now = time.perf_counter()
            waited[0], last = max(waited[0], now - last - 0.01), now

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield waited
    finally:
        ended.set()
        thread.join()


def _write_many(folder: Path) -> None:
    """Write a header of a million tensors with names so short that the format allows it; the values are holes."""
    header = {
        f"e.{index}": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [12 * index, 12 * index + 12]}
        for index in range(MANY)
    }
    raw = json.dumps(header, separators=(",", ":")).encode()
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(raw)) + raw)
        out.truncate(8 + len(raw) + 12 * MANY)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertModel"]}))


def _write_mixture(folder: Path) -> None:
    """Write headers of 100,000 tensors in 8 shards, named like a mixture of experts; the values are holes."""
    parts = ("gate_proj", "up_proj", "down_proj")
    names = [f"layers.{i % 50}.mlp.experts.{i // 150}.{parts[i // 50 % 3]}.weight" for i in range(TENSORS)]
    weight_map = {}
    for shard in range(8):
        file = f"model-{shard:05d}.safetensors"
        header = {
            name: {"dtype": "BF16", "shape": [2, 3], "data_offsets": [12 * index, 12 * index + 12]}
            for index, name in enumerate(names[shard::8])
        }
        weight_map |= dict.fromkeys(header, file)
        raw = json.dumps(header).encode()
        with open(folder / file, "wb") as out:
            out.write(struct.pack("<Q", len(raw)) + raw)
            out.truncate(8 + len(raw) + 12 * len(header))
    (folder / INDEX_FILE).write_text(json.dumps({"weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeModel"]}))
