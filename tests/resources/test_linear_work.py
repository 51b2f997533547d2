"""Lists that a stranger writes, of any length, are gone through a fixed number of times; operations are counted."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bertviz_core.checkpoints.load_report.advice import best_repair
from bertviz_core.checkpoints.load_report.matching import KeyMatcher
from bertviz_core.figures.checkpoints.weights import short_names
from bertviz_core.models.safetensors.adapters.contents import fitted, read_adapter
from bertviz_core.models.safetensors.adapters.results import BaseClass
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.models.safetensors.values import raw_values
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.parameters.ledger import header_ledger
from bertviz_core.predictions.probing.gold import class_places
from bertviz_core.tables.cells import Cells, cell_texts
from bertviz_core.tables.columns import namesakes, unique_names
from bertviz_core.tables.parquet import ParquetTable
from tests.helpers.operations import LINEAR, WatchedArray, WatchedDict, WatchedTuple, growth
from tests.helpers.tiny import tiny_config

Work = Callable[[], object]
BASE = CheckpointHeader((StoredTensor("classifier.weight", (1,), "float32", 4, "model.safetensors", 0),), ("m",), 0)


def header(folder: Path, shapes: dict[str, tuple[int, ...]], name: str = "model.safetensors") -> Path:
    """A file of zeros."""
    entries, end = {}, 0
    for tensor, shape in shapes.items():
        begin, end = end, end + 4 * int(np.prod(shape))
        entries[tensor] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    raw = json.dumps(entries).encode()
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(end))
    return folder


def adapter(folder: Path, shapes: dict[str, tuple[int, ...]], **settings: object) -> Path:
    header(folder, {f"base_model.model.{name}": shape for name, shape in shapes.items()}, "adapter_model.safetensors")
    own = {"peft_type": "LORA", "base_model_name_or_path": "base", "r": 3, "lora_alpha": 6, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(own))
    return folder


def saved_modules(folder: Path, names: list[str]) -> Work:
    folder = adapter(folder, {f"{name}.weight": (1,) for name in sorted(set(names))}, modules_to_save=names)
    base = BaseClass("bert.", {}, 67)
    return lambda: fitted(read_adapter("adapter", folder), "base", BASE, base)


def different_modules(folder: Path, count: int) -> Work:
    return saved_modules(folder, [f"classifier.k{place}" for place in range(count)])


def repeated_module(folder: Path, count: int) -> Work:
    """One name many times in the settings, and many tensors in it."""
    shapes = {f"classifier.k{place}.weight": (1,) for place in range(count)}
    folder = adapter(folder, shapes, modules_to_save=["classifier"] * count)
    base = BaseClass("bert.", {}, 67)
    return lambda: fitted(read_adapter("adapter", folder), "base", BASE, base)


def ranks(folder: Path, count: int) -> Work:
    """Ranks by regular expressions, and many updates."""
    names = [f"layer.{place}.query" for place in range(count)]
    halves = {f"{name}.lora_{half}.weight": shape for name in names for half, shape in (("A", (3, 4)), ("B", (5, 3)))}
    folder = adapter(folder, halves, rank_pattern={f"layer.({place}).value": 3 for place in range(count)})
    return lambda: read_adapter("adapter", folder)


def shards(folder: Path, count: int) -> Work:
    """As many files as tensors."""
    names = [f"model-{place}.safetensors" for place in range(count)]
    for place, name in enumerate(names):
        header(folder, {f"t{place}": (1,)}, name)
    index = {"weight_map": {f"t{place}": name for place, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return lambda: list(raw_values(folder))


def fused(folder: Path, count: int) -> Work:
    """Tensors that transformers splits, in many layers."""
    matcher = KeyMatcher(build_skeleton("m", {**tiny_config("nomic_bert"), "num_hidden_layers": count}))
    matcher.expected = WatchedDict(matcher.expected)
    names = [name.replace("self_attn.q_proj", "attn.Wqkv") for name in matcher.expected if "self_attn.q_proj" in name]
    assert len(names) == count
    return lambda: matcher.match(dict.fromkeys(names, (24, 8)))


def prefixed(folder: Path, count: int) -> Work:
    """A file with a foreign prefix on all names."""
    matcher = KeyMatcher(build_skeleton("m", {**tiny_config("bert"), "num_hidden_layers": count}))
    stored = {f"net.{name}": tuple(tensor.shape) for name, tensor in matcher.expected.items()}
    match = matcher.match(stored)
    return lambda: best_repair(matcher, match, stored, ["model.safetensors"])


def ledger(folder: Path, count: int) -> Work:
    """A header with many layers, and a wrapper on all names."""
    shapes = {f"net.encoder.layer.{place}.output.dense.bias": (1,) for place in range(count)}
    read = read_header(header(folder, {**shapes, "net.embeddings.LayerNorm.weight": (1,)}))
    return lambda: header_ledger("m", {"model_type": "bert", "architectures": ["BertModel"]}, read)


def names_of_figures(folder: Path, count: int) -> Work:
    names = WatchedTuple(f"{'a.' * 30}{place}.dense.weight" for place in range(count))
    return lambda: short_names(names)


def columns(folder: Path, count: int) -> Work:
    stored = [f"a{place // 2}" for place in range(count)]
    return lambda: namesakes(stored, unique_names(stored))


def columns_of_one_name(folder: Path, count: int) -> Work:
    folder.mkdir(exist_ok=True)
    names = ["a"] * count
    parquet.write_table(pa.Table.from_arrays([pa.array(["b"])] * count, names=names), folder / "list.parquet")
    raw = (folder / "list.parquet").read_bytes()

    def reasons() -> None:
        table = ParquetTable("list.parquet", raw, lambda _: None)
        assert not any(table.reason(index) for index in range(count))

    return reasons


def unused_values(folder: Path, count: int) -> Work:
    """Values of a dictionary that no cell has, and which are no texts."""
    codes = WatchedArray("i", [0] * count)
    cells = Cells([b"a", *(b"\xff" + str(place).encode() for place in range(count))], codes)
    return lambda: cell_texts(cells, None, [])


def gold_labels(folder: Path, count: int) -> Work:
    labels = WatchedTuple(f"c{place}" for place in range(count))
    return lambda: class_places([f"LABEL_{place}" for place in range(count)], labels)


CASES: dict[str, tuple[Callable[[Path, int], Work], int]] = {
    each.__name__: (each, size)
    for each, size in (
        *((different_modules, 300), (repeated_module, 300), (ranks, 200), (shards, 100), (fused, 16), (prefixed, 6)),
        *((ledger, 200), (names_of_figures, 200), (columns, 300), (columns_of_one_name, 100), (unused_values, 300)),
        (gold_labels, 200),
    )
}


@pytest.mark.parametrize("case", CASES)
def test_work_grows_with_what_a_stranger_wrote_and_not_faster(case: str, tmp_path: Path) -> None:
    prepare, size = CASES[case]
    assert growth(lambda count: prepare(tmp_path / str(count), count), size) < LINEAR


def test_a_product_of_two_lists_grows_faster() -> None:
    def in_python(count: int) -> Work:
        names = [str(place) for place in range(count)]
        return lambda: [[other for other in names if other == name] for name in names]

    def in_c(count: int) -> Work:
        names = WatchedTuple(map(str, range(count)))
        return lambda: [name in names for name in names]

    assert min(growth(in_python, 50), growth(in_c, 50)) > LINEAR
