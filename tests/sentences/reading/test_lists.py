"""Reading lists of sentences and writing vectors: nothing is lost silently, unreadable files give a clear message.

Covers `bertviz_core/sentences/store/shards.py`, `bertviz_core/sentences/lists.py`,
`bertviz_core/tables/cells.py`, `bertviz_core/tables/columns.py`, `bertviz_core/tables/decoding.py`,
`bertviz_core/tables/text_tables.py`, `bertviz_core/tables/parquet.py`, `bertviz_core/tables/reading.py`.
"""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from bertviz_core.errors import TextError
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.sentences.store.shards import about, csv_bytes, npy_bytes, parquet_bytes, stored_as
from bertviz_core.settings import Settings
from bertviz_core.tables import decoding

SETTINGS = Settings.from_environment()
FRAME = pd.DataFrame({"id": [1, 2, 3], "text": ["first one", None, "third, one"], "score": [0.5, 2.0, float("nan")]})


def parquet(frame: pd.DataFrame) -> bytes:
    target = io.BytesIO()
    frame.to_parquet(target)
    return target.getvalue()


def test_a_pasted_text_has_one_sentence_per_line() -> None:
    text = "First one.\r\n\n  \nSecond\u2028one, still.\rFirst one.\n"
    found = read_sentences("Pasted text", text, SETTINGS)
    assert found.sentences == ("First one.", "Second\u2028one, still.", "First one.")
    assert found.rows.tolist() == [1, 4, 5]
    assert (found.column, found.columns, found.blank, found.duplicates, found.cut) == (None, (), 2, 1, 0)
    assert found.notices == ("2 blank lines left out.", "1 duplicate of earlier sentences kept.")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["list.txt", "list.csv", "list.tsv"])
def test_marks_and_encodings_leave_no_trace(name: str, encoding: str) -> None:
    delimiter = {"list.tsv": "\t"}.get(name, ",")
    table = f'text{delimiter}n\n"Grüße{delimiter} 雨"{delimiter}1\n'
    raw = ("Grüße, 雨" if name == "list.txt" else table).encode(encoding)
    found = read_sentences(name, raw, SETTINGS, None if name == "list.txt" else "text")
    assert found.sentences == ("Grüße, 雨" if name == "list.txt" else f"Grüße{delimiter} 雨",)


def test_a_table_keeps_its_other_columns_and_counts_rows_of_data() -> None:
    raw = b'id,text,kind\n1,"two\nlines",a\n2,,b\n\n3,third,c\n'
    found = read_sentences("list.csv", raw, SETTINGS, "text")
    assert found.sentences == ("two\nlines", "third")
    assert found.rows.tolist() == [1, 4]
    assert found.columns == ("id", "text", "kind")
    assert found.frame["kind"].tolist() == ["a", "c"]
    assert found.blank == 2


@pytest.mark.parametrize(
    ("raw", "column"),
    [
        (b"id,Sentence,note\n1,a b,x\n", "Sentence"),
        (b"id,words\n1,a b\n", "words"),
        (b"only\na b\n", "only"),
        (b"a;text\n1,5;a b\n", "text"),
        (b"a\ttext\n1\ta b\n", "text"),
        (b"text,text,\na b,c,d\n", "text"),
    ],
)
def test_the_column_is_found_where_none_is_named(raw: bytes, column: str) -> None:
    found = read_sentences("list.csv", raw, SETTINGS)
    assert (found.column, found.sentences) == (column, ("a b",))
    assert len(set(found.columns)) == len(found.columns)
    assert all(found.columns)


def test_numbers_are_read_as_texts_with_a_notice() -> None:
    found = read_sentences("list.csv", b"text\n12\nword\n0.50\n", SETTINGS, "text")
    assert found.sentences == ("12", "word", "0.50")
    assert found.notices == ("Numbers in 2 cells of the column 'text' are read as they are written.",)
    typed = read_sentences("list.parquet", parquet(FRAME), SETTINGS, "score")
    assert (typed.sentences, typed.blank) == (("0.5", "2.0"), 1)


def test_parquet_is_read_and_what_is_missing_is_blank() -> None:
    found = read_sentences("list.parquet", parquet(FRAME), SETTINGS, "text")
    assert (found.sentences, found.blank) == (("first one", "third, one"), 1)
    assert found.frame["id"].tolist() == [1, 3]


def test_cells_of_bytes_are_their_text_and_what_is_none_is_told() -> None:
    raw = parquet(pd.DataFrame({"text": ["Grüße".encode(), b"two"]}))
    assert read_sentences("list.parquet", raw, SETTINGS).sentences == ("Grüße", "two")
    for cells, word in (
        ([b"fine", b"caf\xe9"], "Row 2 .* no UTF-8"),
        (["a", "b"], ""),
        ([["a"], ["b", "c"]], "'text' .* several values"),
        ([{"a": 1}, {"a": 2}], "'text' .* several values"),
    ):
        raw = parquet(pd.DataFrame({"text": cells}))
        if word:
            with pytest.raises(TextError, match=word):
                read_sentences("list.parquet", raw, SETTINGS)
        else:
            assert read_sentences("list.parquet", raw, SETTINGS).sentences == ("a", "b")


def test_a_column_of_lists_is_no_column_of_sentences() -> None:
    table = pd.DataFrame({"vector": [[1.0, 2.0], [3.0, 4.0]], "when": pd.Timestamp(0), "words": ["a b", "c d"]})
    found = read_sentences("list.parquet", parquet(table), SETTINGS)
    assert (found.column, found.sentences) == ("words", ("a b", "c d"))
    assert (found.columns, list(found.frame)) == (("when", "words"), ["when"])
    assert found.notices[-1] == "1 column left out of the table: 'vector' holds several values in a cell."


def test_bytes_that_are_no_text_leave_out_their_column_alone() -> None:
    table = pd.DataFrame({"text": ["a", "", "b"], "bad": [b"x", b"\xff", b"y"], "zero": [b"x", b"y", b"\0"]})
    found = read_sentences("list.parquet", parquet(table), SETTINGS)
    assert found.sentences == ("a", "b")
    assert list(found.frame) == []
    assert "1 column left out of the table: 'bad' cannot be read." in found.notices
    assert "1 column left out of the table: 'zero' holds zero bytes." in found.notices


def test_a_text_repeated_in_every_row_is_in_memory_once() -> None:
    few, text = replace(SETTINGS, max_characters=9_999), "x" * 10_000
    raw = parquet(pd.DataFrame({"text": [text] * 2000, "other": [text] * 2000}))
    assert len(raw) < 10**6
    found = read_sentences("list.parquet", raw, few)
    assert (found.cut, found.duplicates) == (2000, 1999)
    assert len({id(sentence) for sentence in found.sentences}) == 1
    assert len({id(cell) for cell in found.frame["other"]}) == 1


def test_a_formula_stays_as_it_is_when_read() -> None:
    assert read_sentences("list.csv", b"text\n=SUM(A1)\n", SETTINGS).sentences == ("=SUM(A1)",)


def test_a_cell_above_the_limit_is_cut_with_a_notice() -> None:
    found = read_sentences("list.csv", b"text\n" + b"a" * 300_000 + b"\nb\n", SETTINGS)
    assert (len(found.sentences[0]), found.cut) == (SETTINGS.max_characters, 1)
    assert "200,000 characters" in found.notices[-1]
    assert read_sentences("list.txt", b"a" * 100_000, SETTINGS).cut == 0


RECORDS = pd.DataFrame(
    {"id": [1, 2, 3], "text": ["one", 'two, \u2028 "quoted"', "\U0001f469\u200d\U0001f52c"], "ok": [True, False, True]}
)


@pytest.mark.parametrize(
    ("name", "lines", "encoding"),
    [
        ("list.jsonl", True, "utf-8"),
        ("list.ndjson", True, "utf-8-sig"),
        ("list.JSONL", True, "utf-16"),
        ("list.json", True, "utf-8"),
        ("list.json", False, "utf-8"),
    ],
)
def test_json_has_the_columns_that_pandas_wrote(name: str, lines: bool, encoding: str) -> None:
    raw = RECORDS.to_json(orient="records", lines=lines, force_ascii=False).encode(encoding)
    table = read_sentences(name, raw, SETTINGS)
    assert table.sentences == tuple(RECORDS["text"])
    assert (table.column, table.columns) == ("text", ("id", "text", "ok"))
    pd.testing.assert_frame_equal(table.frame, RECORDS[["id", "ok"]])
    assert read_sentences(name, raw, SETTINGS, "id").sentences == ("1", "2", "3")


def test_a_value_that_a_line_lacks_is_an_empty_cell() -> None:
    raw = b'{"text": "a", "n": 1}\r\n\r\n{"label": "x", "text": "b", "n": 1.5}\n{"n": 0}\n{"text": "c", "n": -0.0}'
    table = read_sentences("list.jsonl", raw, SETTINGS)
    assert table.sentences == ("a", "b", "c")
    assert (table.rows.tolist(), table.blank) == ([1, 3, 5], 2)
    assert table.frame["n"].tolist() == [1.0, 1.5, 0.0]
    assert np.signbit(table.frame["n"].to_numpy(float)).tolist() == [False, False, True]
    assert table.frame["label"].tolist() == [None, "x", None]


def test_values_that_are_no_cells_of_a_table_are_left_out() -> None:
    big = 123456789012345678901234567890
    lines = [{"text": "a", "tags": ["x"], "mixed": 1, "big": big}, {"text": "b", "mixed": "1"}]
    raw = "\n".join(map(json.dumps, lines)).encode()
    table = read_sentences("list.jsonl", raw, SETTINGS)
    assert table.columns == ("text", "big")
    assert table.frame["big"].tolist() == [str(big), None]
    assert any("'tags' holds several values in a cell" in notice for notice in table.notices)
    assert any("'mixed' holds values of different kinds" in notice for notice in table.notices)
    with pytest.raises(TextError, match="'mixed' of 'list.jsonl' holds values of different kinds"):
        read_sentences("list.jsonl", raw, SETTINGS, "mixed")


@pytest.mark.parametrize(
    ("name", "raw", "column", "words"),
    [
        ("list.csv", b"a,b\n1,2\n\n3\n", None, ("Line 4", "1 cell", "2 columns")),
        ("list.csv", b"a,b\n1,2,3\n", None, ("Line 2", "3 cells")),
        ("list.csv", b'a\n"x\ny\n', None, ("line 2", "unexpected end")),
        ("list.csv", b'a\n"x"y\n', None, ("line 2", "expected")),
        ("list.csv", b"a,b\n1,2\n", "text", ("'text'", "'a', 'b'")),
        ("list.csv", b"", None, ("empty",)),
        ("list.csv", b"a,b\n", "a", ("no rows below its header",)),
        ("list.txt", b"", None, ("no sentence",)),
        ("list.txt", b" \n\t\n", None, ("no sentence",)),
        ("list.txt", b"fine\ncaf\xe9\n", None, ("0xE9", "position 8", "line 2", "UTF-8")),
        ("list.csv", b"\xff\xfea\x00\x00", None, ("UTF-16",)),
        ("list.csv", b"PK\x03\x04\x14 text", None, ("is a binary file", "save what is in it as CSV")),
        ("list.txt", "no mark".encode("utf-16-le"), None, ("zero byte", "UTF-16")),
        ("list.csv", b"\xef\xbb\xbftext\n\xff", None, ("0xFF", "position 8", "line 2")),
        ("list.jsonl", b'{"text": "a"}\n{"text": "b\\u0000"}', None, ("Row 2", "'text'", "zero character")),
        ("list.jsonl", b'{"text": "a", "kind": "b\\u0000"}', None, ("Row 1", "'kind'", "zero character")),
        ("list.jsonl", b'{"text": "a", "b\\u0000": 1}', None, ("'b\\x00'", "zero character", "in its name")),
        ("list.parquet", parquet(pd.DataFrame({"text": ["a", "\0"]})), None, ("Row 2", "'text'", "zero character")),
        ("list.txt", b"one\ntwo\n", "text", ("'text'", "line by line", "leave out the column")),
        ("list.jsonl", b'{"text": "a"}\n', "words", ("no column 'words'", "it has 'text'")),
        ("list.jsonl", b'{"text": "a"}\n["b"]\n', None, ("Line 2", "no JSON object", ".txt")),
        ("list.jsonl", b'{"text": "a"}\n{"text": NaN}\n', None, ("Line 2", "cannot be read as JSON")),
        ("list.jsonl", b'"a"\n', None, ("Line 1", "no JSON object")),
        ("list.jsonl", b"[" * 10**5, None, ("Line 1", "nested too deeply")),
        ("list.jsonl", b'{"text": "\\ud800"}\n', None, ("Line 1", "cannot be read as JSON")),
        ("list.json", b'[{"text": "a"}, 2]', None, ("Record 2", "no JSON object")),
        ("list.json", b'{"text":\n"a"}', None, ("Line 1", "cannot be read as JSON")),
        ("list.jsonl", b"", None, ("empty", "JSON object")),
        ("list.jsonl", b"{}\n{}\n", None, ("empty",)),
        ("list.json", b"[]", None, ("empty",)),
        ("list.parquet", b"PAR1 cut off", None, ("no Parquet file",)),
        ("list.parquet", parquet(FRAME)[:-40], "text", ("no Parquet file",)),
        ("list.parquet", parquet(FRAME), "words", ("'words'", "'id', 'text', 'score'")),
    ],
)
def test_what_cannot_be_read_is_told(name: str, raw: bytes, column: str | None, words: tuple[str, ...]) -> None:
    with pytest.raises(TextError) as error:
        read_sentences(name, raw, SETTINGS, column)
    for word in (f"'{name}'", *words):
        assert word in str(error.value)


def test_too_many_sentences_and_too_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(SETTINGS, max_sentences=3)
    for name, raw in (
        ("a.txt", b"s\n" * 4),
        ("a.csv", b"text\n" + b"s\n" * 9),
        ("a.parquet", parquet(FRAME.sample(9, replace=True))),
    ):
        with pytest.raises(TextError, match="at most 3 sentences .INSIDE_BERT_MAX_SENTENCES"):
            read_sentences(name, raw, few, None if name == "a.txt" else "text" if name == "a.csv" else "id")
    path = tmp_path / "large.csv"
    with open(path, "wb") as file:
        file.truncate(300 * 1024**2)
    with pytest.raises(TextError, match="300 MiB; at most 200"):
        read_sentences("large.csv", path, SETTINGS)
    monkeypatch.setattr(decoding, "MAX_FILE_NBYTES", 3)
    if Path("/dev/zero").exists():  # a device has no size and never ends
        with pytest.raises(TextError, match="more than"):
            read_sentences("zero", Path("/dev/zero"), SETTINGS)
    with pytest.raises(TextError, match="MiB"):
        read_sentences("large.csv", b"text", SETTINGS)
    with pytest.raises(TextError, match="check that it is there"):
        read_sentences("gone.csv", tmp_path / "gone.csv", SETTINGS)


@pytest.fixture
def vectors() -> SentenceVectors:
    sentences = ("plain", "=1+1", "-2", "@a", "\tb", 'say "yes", please\nnow', "lone \ud800 half")
    return SentenceVectors(
        sentences=sentences,
        vectors=np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32),
        token_counts=np.arange(7),
        truncated=np.array([False] * 6 + [True]),
        model="tiny",
        revision="abc",
        pooling="mean",
        layer=2,
        normalized=True,
        prompt="",
        dtype="float32",
        computed=7,
        from_store=0,
        seconds=0.0,
        notices=(),
    )


def test_parquet_holds_the_vectors_and_what_made_them(vectors: SentenceVectors) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(parquet_bytes(vectors)))
    metadata: dict[bytes, bytes] = table.schema.metadata
    assert [metadata[name] for name in (b"model", b"revision", b"pooling", b"layer")] == [
        b"tiny",
        b"abc",
        b"mean",
        b"2",
    ]
    assert json.loads(metadata[b"inside_bert"]) == about(vectors)
    np.testing.assert_array_equal(np.stack(table["vector"].to_numpy()), vectors.vectors)
    assert table["sentence"].to_pylist() == [*vectors.sentences[:-1], "lone \ufffd half"]
    assert table["tokens"].to_pylist() == vectors.token_counts.tolist()


def test_csv_holds_every_digit_and_no_formula(vectors: SentenceVectors) -> None:
    found = pd.read_csv(io.BytesIO(csv_bytes(vectors)))
    numbers: Any = found[[f"d{index}" for index in range(5)]].to_numpy(dtype=np.float32)
    np.testing.assert_array_equal(numbers, vectors.vectors)
    assert found["sentence"].tolist()[:5] == ["plain", "'=1+1", "'-2", "'@a", "'\tb"]
    assert found["sentence"][5] == vectors.sentences[5]


def test_files_in_float16_have_the_vectors_rounded_and_say_so(vectors: SentenceVectors) -> None:
    rounded = stored_as(vectors, "float16")
    expected = vectors.vectors.astype(np.float16)
    table = pyarrow.parquet.read_table(io.BytesIO(parquet_bytes(rounded)))
    np.testing.assert_array_equal(np.stack(table["vector"].to_numpy()), expected)
    np.testing.assert_array_equal(np.load(io.BytesIO(npy_bytes(rounded)), allow_pickle=False), expected)
    numbers: Any = pd.read_csv(io.BytesIO(csv_bytes(rounded)))[[f"d{index}" for index in range(5)]]
    np.testing.assert_array_equal(numbers.to_numpy(dtype=np.float16), expected)
    assert about(rounded)["vector_dtype"] == "float16"
    assert len(npy_bytes(rounded)) < len(npy_bytes(vectors))


def test_npy_is_the_array(vectors: SentenceVectors) -> None:
    found = np.load(io.BytesIO(npy_bytes(vectors)), allow_pickle=False)
    np.testing.assert_array_equal(found, vectors.vectors)
