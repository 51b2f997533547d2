"""The header reader against the format's rules, safetensors' own reader, and random bytes."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save, save_file

from bertviz_core.errors import CheckpointError
from bertviz_core.models.safetensors.folder import read_file_header

EIGHT_EB = 2**63


def written(folder: Path, header: Any, payload: bytes = b"", length: int | None = None) -> Path:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(raw) if length is None else length) + raw + payload)
    return path


def test_names_shapes_dtypes_and_bytes_are_those_that_were_saved(tmp_path: Path) -> None:
    arrays = {
        "b": np.zeros((2, 3), np.float32),
        "a": np.zeros((5,), np.int64),
        "half": np.zeros((7, 1, 2), np.float16),
        "number": np.array(1.0, np.float64),
        "none": np.zeros((0, 4), np.float32),
    }
    save_file(arrays, tmp_path / "model.safetensors")
    tensors, read = read_file_header(tmp_path / "model.safetensors")
    assert {each.name: (each.shape, each.dtype, each.nbytes) for each in tensors} == {
        name: (array.shape, str(array.dtype), array.nbytes) for name, array in arrays.items()
    }
    payload = sum(array.nbytes for array in arrays.values())
    assert read + payload == (tmp_path / "model.safetensors").stat().st_size


@pytest.mark.parametrize(
    ("header", "payload", "words"),
    [
        (
            {
                "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                "b": {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]},
            },
            6,
            "overlaps",
        ),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, 8, "gap"),
        ({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}, 8, "cut off"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, 9, "longer"),
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, 4, "needs 8 bytes"),
        ({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, 4, "no valid dtype"),
        ({"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}, 4, "no valid dtype"),
        ({"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}}, 4, "no valid dtype"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, 4, "needs"),
        ({"a": {"dtype": "F32", "shape": [2**62] * 32, "data_offsets": [0, 4]}}, 4, "needs more than 2"),
        ({"a": {"dtype": "F32", "shape": [10**3000], "data_offsets": [0, 4]}}, 4, "JSON cannot be read"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 10**300]}}, 4, "no valid dtype, shape"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, 4, "no valid dtype"),
        ({"a": {"dtype": "Q9", "shape": [1], "data_offsets": [0, 4]}}, 4, "Q9"),
        ({"a": {"dtype": None, "shape": [1], "data_offsets": [0, 4]}}, 4, "dtype"),
        ({"a": [1]}, 0, "no valid dtype"),
        ({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, 4, "no valid dtype"),
        ({"a": {"dtype": "F32", "shape": [1]}}, 4, "no valid dtype"),
        ({"a": {"shape": [1], "data_offsets": [0, 4]}}, 4, "no valid dtype"),
        ({"a": {"dtype": "F32", "shape": [1] * 99, "data_offsets": [0, 4]}}, 4, "99 axes"),
        ([1, 2], 0, "not an object"),
        (b"{not json", 0, "JSON"),
        (b"[" * 100_000, 0, "JSON"),
        (b'{"a": 1e999}', 0, "JSON"),
        (b"\xff\xfe{}", 0, "JSON"),
    ],
)
def test_a_header_that_lies_is_refused_in_one_sentence(tmp_path: Path, header: Any, payload: int, words: str) -> None:
    path = written(tmp_path, header, b"\0" * payload)
    with pytest.raises(CheckpointError, match=words) as refusal:
        read_file_header(path)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).startswith("model.safetensors")


def test_metadata_is_no_tensor_whatever_it_says(tmp_path: Path) -> None:
    metadata = {"format": "pt", "shape": "round", "dtype": "many"}
    header = {"__metadata__": metadata, "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    tensors, _ = read_file_header(written(tmp_path, header, b"1234"))
    assert [tensor.name for tensor in tensors] == ["a"]


@pytest.mark.parametrize("length", [EIGHT_EB, 2**64 - 1, 100, 2**40])
def test_a_length_field_that_lies_reads_nothing(tmp_path: Path, length: int) -> None:
    with pytest.raises(CheckpointError, match="announces a header"):
        read_file_header(written(tmp_path, {}, length=length))


def test_a_length_field_within_a_huge_sparse_file_does_not_take_its_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", 2**33))
        file.truncate(2**34)
    with pytest.raises(CheckpointError, match="announces a header"):
        read_file_header(path)


@pytest.mark.parametrize("content", [b"", b"1234567"])
def test_a_file_too_short_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match="too short"):
        read_file_header(tmp_path / "model.safetensors")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(CheckpointError, match="folder"):
        read_file_header(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_file_header(tmp_path / "absent.safetensors")


@given(noise=st.binary(max_size=300))
def test_noise_never_raises_anything_else(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / "model.safetensors"
    path.write_bytes(noise)
    _agrees_with_the_library(path)


VALID = save({"x": np.zeros((2, 3), np.float32), "y": np.zeros((5,), np.int8)})


@given(position=st.integers(0, len(VALID) - 1), value=st.integers(0, 255), cut=st.integers(0, 30))
def test_a_damaged_file_is_read_or_refused_as_the_library_does(
    tmp_path_factory: pytest.TempPathFactory, position: int, value: int, cut: int
) -> None:
    damaged = bytearray(VALID)
    damaged[position] = value
    path = tmp_path_factory.mktemp("damaged") / "model.safetensors"
    path.write_bytes(damaged[: len(damaged) - cut])
    _agrees_with_the_library(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "I8", "BF16", "F4", "X"]) | json_values,
        "shape": st.lists(st.integers(-1, 4), max_size=3) | json_values,
        "data_offsets": st.lists(st.integers(0, 40), min_size=2, max_size=2) | json_values,
    }
)


@given(header=st.dictionaries(st.text(max_size=4), entries | json_values, max_size=3), payload=st.integers(0, 40))
def test_any_json_header_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, header: Any, payload: int
) -> None:
    path = written(tmp_path_factory.mktemp("json"), header, b"\0" * payload)
    try:
        tensors, _ = read_file_header(path)
    except CheckpointError as refusal:
        message = str(refusal)
        one_line = "\n" not in message
        assert one_line  # noqa: PT017  # refused or read: both are right, each in its own way
    else:
        assert sum(each.nbytes for each in tensors) == payload, "every byte belongs to one tensor"


def _agrees_with_the_library(path: Path) -> None:
    """Assert that files accepted by safetensors' own reader give the same names, and others are refused."""
    try:
        tensors, _ = read_file_header(path)
    except CheckpointError:
        with pytest.raises((SafetensorError, OSError, ValueError, MemoryError)):
            _library_names(path)
    else:
        assert {each.name for each in tensors} == _library_names(path)


def _library_names(path: Path) -> set[str]:
    with safe_open(path, "np") as file:
        return set(file.keys())
