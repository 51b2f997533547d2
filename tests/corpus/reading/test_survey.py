"""Input of any kind gives the same rows, in any chunks; what cannot be embedded is refused by its row.

Covers `bertviz_core/corpus/reading/*.py`, `bertviz_core/tables/inputs.py`, `bertviz_core/tables/text_tables.py`,
`bertviz_core/tables/parquet.py`.
"""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bertviz_core.corpus.reading import Cut, shard_table, survey
from bertviz_core.corpus.results import InputSurvey
from bertviz_core.errors import BertvizError, CorpusError
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.settings import Settings
from bertviz_core.tables import parquet as row_groups
from bertviz_core.tables import text_tables
from bertviz_core.tables.inputs import input_files

ROWS: list[dict[str, Any]] = [
    {
        "id": row,
        "text": f'Row {row}, "said"\nin {"many " * (row % 7)}words, é.',
        "share": None if row % 5 == 0 else row / 4,
        "kind": ("a", "b", "c")[row % 3],
        "sure": row % 2 == 0,
    }
    for row in range(53)
]
MOST = 200_000


def csv_text(rows: list[dict[str, Any]], delimiter: str = ",") -> str:
    """The rows as written by a spreadsheet."""

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return '"' + value.replace('"', '""') + '"'
        return "" if value is None else str(value).lower()

    return "\n".join(delimiter.join(map(cell, each)) for each in [list(rows[0]), *(row.values() for row in rows)])


def as_parquet(folder: Path) -> Path:
    parquet.write_table(pa.Table.from_pylist(ROWS), folder / "rows.parquet", row_group_size=11)
    return folder / "rows.parquet"


def as_csv(folder: Path) -> Path:
    (folder / "rows.csv").write_text("\ufeff" + csv_text(ROWS), encoding="utf-8")
    return folder / "rows.csv"


def as_tsv(folder: Path) -> Path:
    (folder / "rows.tsv").write_bytes(csv_text(ROWS, "\t").replace("\n", "\r\n").encode() + b"\r\n\r\n")
    return folder / "rows.tsv"


def as_semicolons(folder: Path) -> Path:
    rows = [{**row, "text": row["text"]} for row in ROWS]
    (folder / "rows.csv").write_text(csv_text(rows, ";"), encoding="utf-8")
    return folder / "rows.csv"


def as_json(folder: Path) -> Path:
    written = "\n\n".join(json.dumps({key: value for key, value in row.items() if value is not None}) for row in ROWS)
    (folder / "rows.jsonl").write_text(written)
    return folder / "rows.jsonl"


def as_many(folder: Path) -> Path:
    (folder / "many").mkdir()
    for number, start in enumerate(range(0, len(ROWS), 9)):
        parquet.write_table(pa.Table.from_pylist(ROWS[start : start + 9]), folder / "many" / f"{number}.parquet")
    (folder / "many" / "_SUCCESS").touch()
    return folder / "many"


def as_pattern(folder: Path) -> Path:
    return as_many(folder) / "*.parquet"


WAYS = (as_parquet, as_csv, as_tsv, as_semicolons, as_json, as_many, as_pattern)


def rows_of(found: InputSurvey) -> list[dict[str, Any]]:
    return [row for shard in found.shards for row in shard_table(found, shard).to_pylist()]


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "text": row["text"].replace("\r\n", "\n")} for row in rows]


@pytest.mark.sample(18)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("per_shard", "batch"), [(7, 4096), (53, 5), (1000, 8)])
def test_all_kinds_give_the_same_rows(
    tmp_path: Path, way: Callable[[Path], Path], per_shard: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "BATCH_RECORDS", batch)
    monkeypatch.setattr(row_groups, "BATCH_ROWS", batch)
    found = survey(str(way(tmp_path)), None, per_shard, MOST)
    assert (found.rows, found.text_column) == (53, "text")
    assert [shard.rows for shard in found.shards] == [*[per_shard] * (53 // per_shard), 53 % per_shard or per_shard][
        : -(-53 // per_shard)
    ]
    order = [list(row) for row in ROWS][0]
    read = [{name: row[name] for name in order} for row in rows_of(found)]
    assert plain(read) == ROWS
    assert {column.name: column.kind for column in found.columns} == {
        "id": "number", "share": "number", "kind": "text", "sure": "boolean",
    }  # fmt: skip
    assert rows_of(pickle.loads(pickle.dumps(found))) == rows_of(found)


def test_an_address_of_another_file_system_is_read(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/lake/rows.parquet", as_parquet(tmp_path).read_bytes())
    memory.pipe("/lake/rows.csv", as_csv(tmp_path).read_bytes())
    for name in ("rows.parquet", "rows.csv"):
        found = survey(f"memory://lake/{name}", None, 10, MOST)
        assert rows_of(found) == ROWS
        assert found.files[0].path.startswith("memory://")
    before = input_files("memory://lake/rows.csv")
    memory.pipe("/lake/rows.csv", b"text\nother\n")
    assert input_files("memory://lake/rows.csv") != before


def test_a_changed_file_has_another_fingerprint(tmp_path: Path) -> None:
    path = as_csv(tmp_path)
    before = input_files(str(path))
    path.touch()
    assert input_files(str(path)) == before
    path.write_text(path.read_text(encoding="utf-8").replace("Row 7", "Row 8"), encoding="utf-8")
    after = input_files(str(path))
    assert after[0].nbytes == before[0].nbytes
    assert after != before


def test_types_hold_the_values_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("text,number,mixed,empty\na,1,1,\nb,,2,\n")
    (tmp_path / "2.csv").write_text("text,number,mixed,empty\nc,2.5,x,\n")
    found = survey(str(tmp_path), None, 2, MOST)
    assert rows_of(found) == [
        {"text": "a", "number": 1.0, "mixed": "1", "empty": None},
        {"text": "b", "number": None, "mixed": "2", "empty": None},
        {"text": "c", "number": 2.5, "mixed": "x", "empty": None},
    ]
    parquet.write_table(pa.table({"text": ["a"], "n": pa.array([1], pa.int8())}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"text": pa.array(["b"]).dictionary_encode(), "m": [[1]]}), tmp_path / "2.parquet")
    found = survey(str(tmp_path / "*.parquet"), None, 5, MOST)
    assert rows_of(found) == [{"text": "a", "n": 1, "m": None}, {"text": "b", "n": None, "m": [1]}]


def test_names_of_the_corpus_itself_are_given_another(tmp_path: Path) -> None:
    table = pa.table({"sentence": ["a"], "text": ["mine"], "vector": [[1.0]], "vector_input": [2]})
    parquet.write_table(table, tmp_path / "a.parquet")
    found = survey(str(tmp_path / "a.parquet"), "sentence", 5, MOST)
    assert [(each.name, each.input_name) for each in found.columns] == [
        ("text_input", "text"), ("vector_input_input", "vector"), ("vector_input", "vector_input"),
    ]  # fmt: skip
    assert any("'text' is kept as 'text_input'" in notice for notice in found.notices)


REFUSED: dict[str, tuple[str, bytes, str | None, str]] = {
    "no such column": ("a.csv", b"id,text\n1,a\n", "body", "has no column 'body'; it has 'id', 'text'"),
    "a column of numbers": ("a.jsonl", b'{"id": 1, "text": "a"}', "id", "cannot be read|holds int64"),
    "no column of texts": ("a.jsonl", b'{"id": 1}', None, "no column of texts"),
    "nothing in a cell": ("a.csv", b"id,text\n1,a\n2,\n", None, "Row 2 of .* has nothing in the column 'text'"),
    "blanks in a cell": ("a.tsv", b"text\tid\na\t1\nb\t2\n \t3\n", None, "Row 3 of"),
    "no key in a line": ("a.jsonl", b'{"text": "a"}\n{"id": 1}\n', None, "Row 2 of"),
    "a text of 10 MB": (
        "a.jsonl",
        b'{"text": "' + b"x" * 10**7 + b'"}',
        None,
        "10,000,000 characters; at most 200,000",
    ),
    "an empty file": ("a.csv", b"", None, "has no row"),
    "a row of names alone": ("a.csv", b"id,text\n", None, "has no row"),
    "an open quotation mark": ("a.csv", b'id,text\n1,"a\n2,b\n', None, "never closed"),
    "a cell too many": ("a.csv", b"id,text\n1,a\n2,b,c\n", None, "cannot be read"),
    "bytes of Latin-1": ("a.csv", "id,text\n1,é\n".encode("latin-1"), "text", "cannot be read|no UTF-8"),
    "Latin-1 and no column named": (
        "a.csv",
        "id,text\n1,é\n".encode("latin-1"),
        None,
        "the bytes of 'text' are not read as UTF-8. Save",
    ),
    "half a UTF-16 unit": ("a.csv", "id,text\n1,a\n".encode("utf-16") + b"a", None, "is not UTF-16 .truncated data"),
    "a zero character in UTF-16": ("a.csv", "text\na\0\n".encode("utf-16"), None, "holds a zero byte at position 14"),
    "a zero byte in JSON": ("a.jsonl", b'{"text": "a\0b"}', None, "holds a zero byte at position 11"),
    "a zero character in JSON": (
        "a.jsonl",
        b'{"text": "a"}\n{"text": "a\\u0000b"}',
        None,
        "Row 2 of the column 'text' of .* holds a zero character",
    ),
    "a zero character in a name": ("a.jsonl", b'{"text": "a", "n\\u0000": 1}', None, "zero character .* in its name"),
    "a zero byte in a cell": ("a.csv", b"id,text\n1,a\n2,b\0c\n", None, "holds a zero byte at position 15"),
    "a zero byte in another cell": ("a.tsv", b"id\ttext\n1\0\ta\n", None, "holds a zero byte at position 9"),
    "UTF-16 without a mark": ("a.csv", "id,text\n1,a\n".encode("utf-16-le"), None, "zero byte at position 1,"),
    "no JSON": ("a.jsonl", b'{"text": "a"}\ntext\n', None, "cannot be read"),
    "values of two kinds": ("a.jsonl", b'{"text": "a", "n": 1}\n{"text": "b", "n": "x"}\n', None, "cannot be read"),
    "half a Parquet file": ("a.parquet", b"PAR1" + bytes(50), None, "no whole Parquet file"),
    "another kind of file": ("a.xlsx", b"", None, "has the ending '.xlsx'; read are .parquet"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_embedded_is_refused(tmp_path: Path, case: str) -> None:
    name, raw, column, words = REFUSED[case]
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(BertvizError, match=words) as refused:
        survey(str(tmp_path / name), column, 10, MOST)
    assert "\n" not in str(refused.value)


def test_zero_characters_and_equal_names_in_parquet_are_refused(tmp_path: Path) -> None:
    texts, zeros = pa.array(["a", "b"]), pa.array(["x", "y\0"])
    for columns, names, words in (
        ([zeros.dictionary_encode()], ["text"], "Row 2 of the column 'text' of .* holds a zero character"),
        ([texts, zeros], ["text", "kind"], "Row 2 of the column 'kind' of .* holds a zero character"),
        ([texts, texts], ["text", "a\0"], "zero character .* in its name"),
        ([texts, texts, texts], ["text", "a", "a"], "has 2 columns of the name 'a'; rename them"),
    ):
        parquet.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "a.parquet")
        with pytest.raises(BertvizError, match=words):
            survey(str(tmp_path / "a.parquet"), "text", 10, MOST)


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_every_encoding_and_line_end_is_read_as_a_list_of_texts_is(tmp_path: Path, name: str, end: str) -> None:
    rows: list[dict[str, Any]] = [
        {"id": row, "text": text}
        for row, text in enumerate(("a b", 'é, "said"', "two\nlines", "\u2028 \u0a0a \u0d0d 🐍", "end"))
    ]
    written = "\n".join(json.dumps(each, ensure_ascii=False) for each in rows)
    if name != "a.jsonl":
        written = csv_text(rows, "," if name == "a.csv" else "\t").replace("two\nlines", "two lines")
    for encoding in ENCODINGS:
        mark = "\ufeff" if encoding.startswith(("utf-16", "utf-32")) else ""
        raw = (mark + written.replace("\n", end) + end).encode(encoding)
        (tmp_path / name).write_bytes(raw)
        found = survey(str(tmp_path / name), None, 2, MOST)
        read = [row["text"] for row in rows_of(found)]
        assert read == list(read_sentences(name, raw, Settings.from_environment()).sentences)
        assert read == [row["text"] if name == "a.jsonl" else row["text"].replace("\n", " ") for row in rows]


def test_a_long_file_of_carriage_returns_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "LINE_PART", 7)
    for end in ("\r", "\r\n", "\n"):
        for encoding in ("utf-8", "utf-16"):
            written = end.join(["id,text", *(f'{row},"row {row}, {"long " * row}"' for row in range(9))])
            (tmp_path / "a.csv").write_bytes(written.encode(encoding))
            read = [row["text"] for row in rows_of(survey(str(tmp_path / "a.csv"), None, 4, MOST))]
            assert read == [f"row {row}, {'long ' * row}" for row in range(9)]


def test_no_row_is_lost_where_line_ends_are_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text\ra\nb\r\nc\r\rd")
    assert [row["text"] for row in rows_of(survey(str(tmp_path / "a.csv"), None, 2, MOST))] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("s3://bucket/a.parquet", "needs a package that is not installed"),
        ("nowhere://bucket/a.parquet", "no address that is known here"),
        ("memory://gone/a.parquet", "There is no input"),
    ],
)
def test_an_address_that_leads_nowhere_is_told(address: str, words: str) -> None:
    with pytest.raises(CorpusError, match=words):
        survey(address, None, 10, MOST)


def test_kinds_are_not_mixed(tmp_path: Path) -> None:
    as_csv(tmp_path), as_json(tmp_path)
    with pytest.raises(CorpusError, match=r"mixes files of '.csv' and '.jsonl'"):
        survey(str(tmp_path), None, 10, MOST)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 60), st.data())
def test_shards_do_not_depend_on_how_rows_are_handed_over(
    sizes: list[int], most_rows: int, most_nbytes: int, data: st.DataObject
) -> None:
    def cut(steps: list[int]) -> Any:
        made, place = Cut(most_rows, most_nbytes), 0
        for step in steps:
            part = sizes[place : place + step]
            if part:
                made.take(0, list(range(place, place + len(part) + 1)), np.array(part))
            place += step
        return made.shards()

    whole = cut([len(sizes)])
    assert cut(data.draw(st.lists(st.integers(1, 9), min_size=60, max_size=60))) == whole
    assert sum(shard.rows for shard in whole) == len(sizes)
    for shard in whole:
        (part,) = shard.ranges
        used = sizes[part.start : part.stop]
        assert 0 < shard.rows == len(used) <= most_rows
        assert sum(used) <= most_nbytes or len(used) == 1
