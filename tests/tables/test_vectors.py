"""Vectors of other programs are read in every form, and what is wrong with a file is said in one sentence.

Covers `bertviz_core/tables/vectors.py`.
"""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bertviz_core.errors import TextError
from bertviz_core.tables.vectors import MOST_ROWS, VectorAnswer, VectorRequest, answered, read_vectors, unpacked

TEXTS = ("one", "two, three", "four")
VECTORS = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
ROWS = VECTORS.tolist()
PAIRS = list(zip(TEXTS, ROWS, strict=True))
BASE64 = [base64.b64encode(row.tobytes()).decode() for row in VECTORS]


def as_bytes(write: Callable[[Path], object], path: Path) -> bytes:
    write(path)
    return path.read_bytes()


def table(path: Path, **columns: object) -> None:
    parquet.write_table(pa.table(columns), path)


FORMS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a table": ("v.parquet", lambda path: table(path, number=[1, 2, 3], text=TEXTS, embedding=ROWS)),
    "lists of one size": (
        "v.pq",
        lambda path: table(path, vector=pa.FixedSizeListArray.from_arrays(VECTORS.ravel(), 4), sentence=TEXTS),
    ),
    "JSON lines": (
        "v.jsonl",
        lambda path: path.write_text("\n".join(json.dumps({"text": t, "vector": v}) for t, v in PAIRS)),
    ),
    "OpenAI": (
        "v.json",
        lambda path: path.write_text(
            json.dumps({"data": [{"index": i, "embedding": ROWS[i]} for i in (2, 0, 1)], "model": "m", "usage": {}})
        ),
    ),
    "OpenAI in base64": (
        "v.json",
        lambda path: path.write_text(json.dumps({"data": [{"embedding": row} for row in BASE64]})),
    ),
    "Cohere": ("v.json", lambda path: path.write_text(json.dumps({"embeddings": {"float": ROWS}, "texts": TEXTS}))),
    "Ollama": ("v.json", lambda path: path.write_text(json.dumps({"model": "m", "embeddings": ROWS}))),
    "Gemini": ("v.json", lambda path: path.write_text(json.dumps({"embeddings": [{"values": row} for row in ROWS]}))),
    "text-embeddings-inference": ("v.json", lambda path: path.write_text(json.dumps(ROWS))),
    "NumPy": ("v.npy", lambda path: np.save(path, VECTORS)),
    "NumPy in 16 bits": ("v.npy", lambda path: np.save(path, VECTORS.astype(np.float16))),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(form: str, tmp_path: Path) -> None:
    name, write = FORMS[form]
    content = as_bytes(write, tmp_path / name)
    for source in (tmp_path / name, content):
        file = read_vectors(name, source, TEXTS)
        assert file.texts == TEXTS
        np.testing.assert_allclose(file.vectors, VECTORS, rtol=1e-3 if "16" in form else 1e-7)
    request = VectorRequest(name, content, list(TEXTS))
    import msgspec

    child = unpacked(answered(msgspec.msgpack.encode(request)))
    np.testing.assert_array_equal(child.vectors, file.vectors)
    assert (child.texts, child.notices) == (file.texts, file.notices)
    assert VectorAnswer.__struct_fields__[0] == "texts"


@pytest.mark.parametrize("form", ["a table", "lists of one size", "JSON lines", "Cohere"])
def test_the_texts_of_the_file_are_used(form: str, tmp_path: Path) -> None:
    name, write = FORMS[form]
    write(tmp_path / name)
    assert read_vectors(name, tmp_path / name).texts == TEXTS


def test_of_many_rows_some_are_compared_and_said(tmp_path: Path) -> None:
    rows = np.arange(5_000, dtype=np.float64)[:, None] + np.zeros((1, 3))
    np.save(tmp_path / "v.npy", rows)
    texts = [str(row) for row in range(5_000)]
    file = read_vectors("v.npy", tmp_path / "v.npy", texts)
    assert len(file.texts) == MOST_ROWS
    assert [str(int(row[0])) for row in file.vectors] == list(file.texts), "each vector keeps its text"
    assert (file.texts[0], file.texts[-1]) == ("0", "4999")
    assert file.notices == ("200 of the 5,000 vectors are compared, evenly spaced in the file.",)
    table(tmp_path / "v.parquet", embedding=rows.tolist(), text=texts)
    assert read_vectors("v.parquet", tmp_path / "v.parquet").texts == file.texts


WRONG: dict[str, tuple[str, bytes, str]] = {
    "another kind of file": ("v.csv", b"a,b", "is of no kind that holds vectors"),
    "no NPY": ("v.npy", b"no array", "is no NPY file of numbers"),
    "no Parquet": ("v.parquet", b"PAR1", "is no Parquet file that can be read"),
    "no JSON": ("v.jsonl", b"{", "is no JSON that can be read"),
    "no list": ("v.json", b'{"error": "quota"}', "has no list of vectors; its keys are 'error'"),
    "an empty list": ("v.json", b'{"data": []}', "has no vector"),
    "an empty file": ("v.jsonl", b"", "has no vector"),
    "no numbers": ("v.jsonl", b'{"text": "a", "vector": ["x"]}', "Row 1 of 'v.jsonl' has no list of numbers"),
    "true and false": ("v.jsonl", b'{"text": "a", "vector": [true]}', "has no list of numbers"),
    "other lengths": ("v.json", b"[[1, 2], [1, 2, 3]]", "Row 2 of 'v.json' has 3 numbers, the first one 2"),
    "wrong base64": ("v.json", b'{"data": [{"embedding": "?"}]}', "no base64 of float32 numbers"),
    "cut base64": ("v.json", b'{"data": [{"embedding": "AAAAAAA="}]}', "no base64 of float32 numbers"),
    "a text missing": ("v.jsonl", b'{"text": "a", "vector": [1]}\n{"text": "", "vector": [2]}', "no text for vector 2"),
    "no texts": ("v.json", b"[[1, 2]]", "has vectors without their texts"),
    "a number beyond all": ("v.json", b"[[1" + b"0" * 400 + b"]]", "(too large|no JSON that can be read)"),
    "a pointer": ("v.npy", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "Git LFS"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(case: str, tmp_path: Path) -> None:
    name, content, words = WRONG[case]
    (tmp_path / name).write_bytes(content)
    for source in (content, tmp_path / name):
        with pytest.raises(TextError, match=words) as refusal:
            read_vectors(name, source)
        assert "\n" not in str(refusal.value)


def test_pickled_objects_and_other_shapes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(TextError, match="no NPY file of numbers"):
        read_vectors(path.name, path)
    np.save(path, np.zeros((2, 3, 4)))
    with pytest.raises(TextError, match=r"the shape \(2, 3, 4\)"):
        read_vectors(path.name, path)


def test_another_number_of_texts_is_said(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", VECTORS)
    with pytest.raises(TextError, match="has 3 vectors, and there are 2 texts"):
        read_vectors("v.npy", tmp_path / "v.npy", TEXTS[:2])
    with pytest.raises(TextError, match="cannot be read"):
        read_vectors("gone.npy", tmp_path / "gone.npy", TEXTS)
