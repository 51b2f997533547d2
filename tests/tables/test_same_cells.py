"""A frame that pandas wrote has the same cells in every format and for every reader of tables.

Covers `bertviz_core/tables/cells.py`, `bertviz_core/tables/text_tables.py`, `bertviz_core/tables/parquet.py`,
`bertviz_core/corpus/reading.py`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from bertviz_core.corpus.folder import matching, plain_values
from bertviz_core.corpus.reading import shard_table, survey
from bertviz_core.errors import CorpusError, TextError
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.sentences.lists import read_sentences, read_upload
from bertviz_core.settings import Settings
from bertviz_core.tables import parquet, text_tables
from bertviz_core.tables.cells import label_text

SETTINGS = Settings.from_environment()
TEXTS = ["leading zeros", "words for missing", "many digits", "no such day", "categories", "all missing"]
BEYOND = ["beyond 64 bits"]
COLUMNS: dict[str, tuple[Any, list[str]]] = {
    "whole, one missing": ([2.0, None, 0.0, 1.0], ["2", "", "0", "1"]),
    "nullable whole": (pd.array([1, None, -3, 4], "Int64"), ["1", "", "-3", "4"]),
    "decimals": ([1.5, 2.0, None, -0.25], ["1.5", "2", "", "-0.25"]),
    "large": ([2**60, 1, 2, -3], [str(2**60), "1", "2", "-3"]),
    "beyond 64 bits": (np.array([2**63 + 5, 1, 2, 3], np.uint64), [str(2**63 + 5), "1", "2", "3"]),
    "powers": ([1e3, 2e20, None, 1.0], ["1000", "2e+20", "", "1"]),
    "booleans": ([True, False, True, True], ["True", "False", "True", "True"]),
    "booleans, one missing": ([True, None, False, True], ["True", "", "False", "True"]),
    "days": (pd.DatetimeIndex(["2024-01-02", None, "2024-02-29", "1999-12-31"]),
             ["2024-01-02", "", "2024-02-29", "1999-12-31"]),
    "times": (pd.DatetimeIndex(["2024-01-02 03:04:05.5", None, "2024-02-29 00:00:00.0", "1999-12-31 23:59:59.0"]),
              ["2024-01-02 03:04:05.5", "", "2024-02-29", "1999-12-31 23:59:59"]),
    "zoned": (pd.DatetimeIndex(["2024-01-02 03:04:05", None, "2024-07-01 00:00:00", "1999-12-31 23:59:59"])
              .tz_localize("Europe/Berlin"),
              ["2024-01-02 02:04:05+00:00", "", "2024-06-30 22:00:00+00:00", "1999-12-31 22:59:59+00:00"]),
    "leading zeros": (["007", "01", None, "10"], ["007", "01", "", "10"]),
    "words for missing": (["None", "NA", "nan", None], ["None", "NA", "nan", ""]),
    "digits as texts": (["3", "1", None, "2"], ["3", "1", "", "2"]),
    "many digits": (["0.1234567890123456789", "1", "2", "3"], ["0.1234567890123456789", "1", "2", "3"]),
    "no such day": (["2024-02-31", "2024-01-01", "2024-01-02", None], ["2024-02-31", "2024-01-01", "2024-01-02", ""]),
    "categories": (pd.Categorical(["p", "q", None, "p"]), ["p", "q", "", "p"]),
    "all missing": ([None] * 4, [""] * 4),
}  # fmt: skip
FRAME = pd.DataFrame(
    {"text": [f"text {row}" for row in range(4)], **{key: cells for key, (cells, _) in COLUMNS.items()}}
)
U64 = "uint64.jsonl"
LABELS = {key: labels for key, (_, labels) in COLUMNS.items()}
WRITERS: dict[str, Callable[[Path], object]] = {
    "a.csv": lambda path: FRAME.to_csv(path, index=False),
    "na.csv": lambda path: FRAME.drop(columns=TEXTS).to_csv(path, index=False, na_rep="NaN"),
    "semicolons.csv": lambda path: FRAME.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig"),
    "a.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "a.parquet": FRAME.to_parquet,
    "a.jsonl": lambda path: FRAME.drop(columns=BEYOND).to_json(
        path, orient="records", lines=True, date_format="iso", date_unit="us", double_precision=15
    ),
    U64: lambda path: FRAME[["text", *BEYOND]].to_json(path, orient="records", lines=True),
}


def of_list(path: Path) -> dict[str, list[str]]:
    """The labels of every column, of a list in this process and of an upload."""
    table = read_sentences(path.name, path, SETTINGS)
    upload = read_upload(path.name, path.read_bytes(), SETTINGS, None)
    labels = {str(name): list(gold_column(table, str(name))) for name in table.frame}
    assert labels == {str(name): list(gold_column(upload, str(name))) for name in upload.frame}
    return labels


def of_corpus(path: Path) -> dict[str, list[str]]:
    """The labels of every column of a corpus, which `--where` finds as well."""
    found = survey(str(path), None, 3, 1_000)
    table = pa.concat_tables([shard_table(found, shard) for shard in found.shards])
    labels = {}
    for name in table.column_names[1:]:
        column = table.column(name)
        labels[name] = [label_text(cell) for cell in plain_values(column)]
        missing = matching(column, name, "null").tolist()
        assert missing == [not label for label in labels[name]]
    return labels


@pytest.mark.parametrize(
    ("name", "reader"),
    # Arrow, which reads a corpus, has no whole numbers of JSON beyond 64 bits with a sign.
    [(name, reader) for name in WRITERS for reader in (of_list, of_corpus) if (name, reader) != (U64, of_corpus)],
)
@pytest.mark.sample(7)
def test_cells_are_the_same_in_every_format(
    tmp_path: Path, name: str, reader: Callable[[Path], dict[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "BATCH_RECORDS", 2)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2)
    WRITERS[name](tmp_path / name)
    found = reader(tmp_path / name)
    assert found == {key: LABELS[key] for key in found}
    assert len(found) >= (1 if name == U64 else len(COLUMNS) - len(TEXTS))


def test_rounded_numbers_of_a_corpus_are_said(tmp_path: Path) -> None:
    WRITERS[U64](tmp_path / U64)
    assert [each for each in survey(str(tmp_path / U64), None, 3, 1_000).notices if "9.223372036854776e+18" in each]
    (tmp_path / "a.jsonl").write_text('{"text": "a", "n": 9223372036854775807, "m": 1e15}\n')
    assert not [each for each in survey(str(tmp_path / "a.jsonl"), None, 3, 1_000).notices if "64 bits" in each]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_signs_of_zero_and_numbers_stay_numbers(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"text": ["a", "b"], "n": [-0.0, 2.0], "m": [3.0, 2.0]})
    path = tmp_path / f"a.{ending}"
    frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    table = read_sentences(path.name, path, SETTINGS)
    assert np.signbit(table.frame["n"]).tolist() == [True, False]
    assert table.frame["m"].dtype == np.int64


@pytest.mark.parametrize("reader", [of_list, of_corpus])
@pytest.mark.parametrize(
    ("raw", "labels"),
    [
        (b'sep=;\ntext;label\n"a;\nb";2,0\nc;\n', ["2", ""]),
        (b'\xef\xbb\xbfsep=\t\r\ntext\tlabel\r\na\t1\r\nb\t0\r\n', ["1", "0"]),
        (b"text;label, gold\na;1\nb;0\nc;0\n".replace(b"text", b"n;text").replace(b"\n", b"\n1;").removesuffix(b"1;"),
         ["1", "0", "0"]),
    ],
)  # fmt: skip
def test_delimiters_are_found(
    tmp_path: Path, reader: Callable[[Path], dict[str, list[str]]], raw: bytes, labels: list[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(raw)
    found = reader(path)
    assert list(found.values())[-1] == labels


def test_what_is_not_plain_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'text,label,label,score\na,1,x,"3,5"\nb,0,y,"4"\n')
    table = read_sentences(path.name, path, SETTINGS)
    same = "There are 2 columns of the name 'label': the first has it, and the other is called 'label (2)'."
    assert same in table.notices
    assert (table.frame["label"].tolist(), table.frame["label (2)"].tolist()) == ([1, 0], ["x", "y"])
    corpus = survey(str(path), None, 3, 1_000)
    assert same in corpus.notices
    for notices in (table.notices, corpus.notices):
        assert any("('score') such as 3,5 are read as texts" in notice for notice in notices)
    path.write_bytes(b"text;score\na;\nb;3,5\nc;1,234\n")
    table, corpus = read_sentences(path.name, path, SETTINGS), survey(str(path), None, 1, 1_000)
    assert table.frame["score"].dropna().tolist() == [3.5, 1.234]
    for notices in (table.notices, corpus.notices):
        assert any("are read as decimal points: 3,5 as 3.5" in notice for notice in notices)
    path.write_bytes(b'text,score\na,"3,5"\nb,none\n')
    assert not any("3,5" in notice for notice in survey(str(path), None, 1, 1_000).notices)


@pytest.mark.parametrize(
    ("name", "raw", "refused"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": "b", "label": 1, "label": 2}\n', "Line 2 of 'a.jsonl'"),
        ("a.json", '[{"text": "a"}, {"text": "b", "label": 1, "label": 2}]', "A record of 'a.json'"),
        ("a.jsonl", '{"text": "label", "label": "\\"label\\""}\n', ""),
    ],
)
def test_a_name_twice_in_one_object_is_refused(tmp_path: Path, name: str, raw: str, refused: str) -> None:
    path = tmp_path / name
    path.write_text(raw, encoding="utf-8")
    if not refused:
        assert read_sentences(name, path, SETTINGS).frame["label"].tolist() == ['"label"']
        return
    with pytest.raises(TextError, match=f"{refused} has 2 values of the name 'label'"):
        read_sentences(name, path, SETTINGS)
    if name.endswith(".jsonl"):
        with pytest.raises(CorpusError, match="label"):
            survey(str(path), None, 3, 1_000)


def two_labels(path: Path) -> Path:
    """A file of two columns of one name."""
    table = pa.Table.from_arrays(
        [pa.array(["a", "b"]), pa.array([1, None]), pa.array([3, 4])], ["text", "label", "label"]
    )
    if path.suffix == ".parquet":
        write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text('{"text": "a", "label": 1, "label": 3}\n{"text": "b", "label": null, "label": 4}\n')
    else:
        path.write_text("text,label,label\na,1,3\nb,,4\n".replace(",", "\t" if path.suffix == ".tsv" else ","))
    return path


@pytest.mark.parametrize("reader", [of_list, of_corpus])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_two_columns_of_one_name_are_said(
    tmp_path: Path, name: str, reader: Callable[[Path], dict[str, list[str]]]
) -> None:
    """Both are read and a notice tells their names, or a sentence with the name refuses them."""
    path = two_labels(tmp_path / name)
    if path.suffix == ".jsonl" or (path.suffix == ".parquet" and reader is of_corpus):
        with pytest.raises((TextError, CorpusError), match="label"):
            reader(path)
        return
    found = reader(path)
    assert found == {"label": ["1", ""], "label (2)": ["3", "4"]}
    notices = (
        read_sentences(name, path, SETTINGS).notices if reader is of_list else survey(str(path), None, 3, 9).notices
    )
    assert any("2 columns of the name 'label'" in notice for notice in notices)


@pytest.mark.parametrize("reader", [of_list, of_corpus])
def test_a_table_of_excel_has_the_numbers_that_pandas_reads(
    tmp_path: Path, reader: Callable[[Path], dict[str, list[str]]]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"sep=;\r\ntext;label;score\r\na;1;0,5\r\nb;;\r\nc;0;-2,25\r\nd;1;3\r\n")
    frame = pd.read_csv(path, sep=";", decimal=",", skiprows=1)
    found = reader(path)
    assert [float(score) for score in found["score"] if score] == frame["score"].dropna().tolist()
    assert found["label"] == ["" if pd.isna(label) else str(int(label)) for label in frame["label"]]
