"""Files that could exhaust a server give a table or one message, and leave its memory unchanged."""

import os
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from bertviz_core.errors import SupersededError, TextError
from bertviz_core.sentences.lists import read_sentences, read_upload
from bertviz_core.settings import Settings
from bertviz_core.tables.columns import unique_names
from tests.helpers import hostile_tables

SETTINGS = replace(Settings.from_environment(), child_bytes=640 * 1024**2, max_table_bytes=16 * 1024**2)
FILES = [
    *(pytest.param("f.parquet", make, id=f"parquet-{name}") for name, make in hostile_tables.PARQUET.items()),
    *(pytest.param("f.csv", make, id=f"csv-{name}") for name, make in hostile_tables.DELIMITED.items()),
    *(pytest.param("f.txt", make, id=f"txt-{name}") for name, make in hostile_tables.DELIMITED.items()),
]
GROWTH = 128 * 1024**2


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(("name", "make"), FILES)
def test_a_hostile_file_is_a_table_or_a_sentence(name: str, make: Callable[[], bytes]) -> None:
    raw = make()
    assert len(raw) <= hostile_tables.UPLOAD_NBYTES
    before = resident()
    try:
        found = read_upload(name, raw, SETTINGS, None)
        assert len(found.sentences) <= SETTINGS.max_sentences
        assert max(map(len, found.sentences)) <= SETTINGS.max_characters
    except TextError as error:
        outcome = str(error)
    else:
        outcome = f"read as {name!r}"
    assert repr(name) in outcome
    assert len(outcome) < 2_000
    assert resident() - before < GROWTH


@pytest.mark.parametrize(
    ("raw", "settings", "word"),
    [
        (hostile_tables.lying_sizes, replace(SETTINGS, child_bytes=310 * 1024**2), "INSIDE_BERT_CHILD_BYTES|broke off"),
        (hostile_tables.many_huge_texts, replace(SETTINGS, max_table_bytes=1), "takes more than 1 MiB in memory"),
        (hostile_tables.noise, SETTINGS, "no Parquet file"),
        (hostile_tables.many_columns, SETTINGS, "8,000 columns; at most 2,000"),
        (hostile_tables.absurd_sentences, SETTINGS, "2,048,000 MiB"),
        (hostile_tables.lying_rows, SETTINGS, "INSIDE_BERT_MAX_SENTENCES"),
    ],
)
def test_why_a_file_is_refused_is_told(raw: Callable[[], bytes], settings: Settings, word: str) -> None:
    with pytest.raises(TextError, match=word):
        read_upload("f.parquet", raw(), settings, None)


def test_a_reader_who_leaves_ends_the_reading() -> None:
    with pytest.raises(SupersededError):
        read_upload("f.csv", hostile_tables.DELIMITED["one cell"](), SETTINGS, None, lambda: False)


@pytest.mark.parametrize("name", ["f.csv", "f.txt"])
def test_a_child_reads_what_the_process_itself_reads(name: str) -> None:
    raw = "id,text,kind\n1,Grüße,a\n2,,b\n3,=1+1,a\n4,Grüße,a\n".encode()
    apart, here = read_upload(name, raw, SETTINGS, None), read_sentences(name, raw, SETTINGS)
    assert (apart.sentences, apart.notices, apart.columns) == (here.sentences, here.notices, here.columns)
    assert apart.rows.tolist() == here.rows.tolist()
    assert apart.frame.equals(here.frame)


def test_whole_numbers_beside_missing_ones_stay_whole() -> None:
    numbers = pa.array([9007199254740993, None, 2**63], pa.uint64())
    raw = hostile_tables.written(pa.table({"text": numbers}))
    assert read_upload("f.parquet", raw, SETTINGS, None).sentences == ("9007199254740993", "9223372036854775808")
    beside = hostile_tables.written(pa.table({"text": ["a", "b", "c"], "n": numbers}))
    frame = read_upload("f.parquet", beside, SETTINGS, None).frame
    assert frame["n"].tolist() == [9007199254740993, None, 2**63]


def test_equal_names_of_columns_are_told_apart() -> None:
    assert unique_names(["a", "a (2)", "a", "", "a"]) == ["a", "a (2)", "a (3)", "column 4", "a (4)"]
