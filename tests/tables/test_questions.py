"""Questions with gold answers in the forms of SQuAD: a file of articles, objects a line, Parquet of Hugging Face."""

import io
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from bertviz_core.errors import TextError
from bertviz_core.sentences.lists import read_sentences, read_upload
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings

SETTINGS = Settings.from_environment()
ROWS = [("Who?", "A bank.", ["bank", "A bank"]), ("What?", "A bank.", []), ("Where?", "By the river, 7.", ["river"])]


def articles() -> bytes:
    parts: dict[str, list[object]] = {}
    for question, context, texts in ROWS:
        answers = [{"text": text, "answer_start": context.index(text)} for text in texts]
        parts.setdefault(context, []).append(
            {"question": question, "id": "1", "answers": answers, "is_impossible": not texts}
        )
    paragraphs = [{"context": context, "qas": qas} for context, qas in parts.items()]
    return json.dumps({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}, indent=1).encode()


def objects() -> bytes:
    rows = [
        {"id": "x", "question": q, "context": c, "answers": {"text": a, "answer_start": [0] * len(a)}}
        for q, c, a in ROWS
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def hugging_face() -> bytes:
    kind = pa.struct([("text", pa.list_(pa.string())), ("answer_start", pa.list_(pa.int32()))])
    answers = pa.array([{"text": texts, "answer_start": [0] * len(texts)} for _, _, texts in ROWS], kind)
    file, columns = io.BytesIO(), {"id": ["a", "b", "c"], "title": ["t"] * 3, "context": [row[1] for row in ROWS]}
    parquet.write_table(pa.table({**columns, "question": [row[0] for row in ROWS], "answers": answers}), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data"), [("dev.json", articles()), ("dev.jsonl", objects()), ("dev.parquet", hugging_face())]
)
@pytest.mark.parametrize("uploaded", [False, True])
def test_questions_contexts_and_answers_are_columns(name: str, data: bytes, uploaded: bool) -> None:
    table: SentenceTable = read_upload(name, data, SETTINGS, None) if uploaded else read_sentences(name, data, SETTINGS)
    assert (table.column, list(table.sentences)) == ("question", [row[0] for row in ROWS])
    assert table.frame["context"].tolist() == [row[1] for row in ROWS]
    cells = [json.loads(cell) for cell in table.frame["answers"]]
    assert [cell["text"] if isinstance(cell, dict) else cell for cell in cells] == [row[2] for row in ROWS]


def test_other_nested_columns_are_left_out_and_other_objects_refused_as_before() -> None:
    nested = b'{"question": "a", "choices": ["b"]}\n{"question": "c", "choices": []}'
    table = read_sentences("x.jsonl", nested, SETTINGS)
    assert list(table.frame) == []
    assert "'choices' holds several values in a cell" in " ".join(table.notices)
    for data in (b'{"data": [{"paragraphs": [{"context": 1}]}]}', b'{"data": []\n'):
        with pytest.raises(TextError) as refusal:
            read_sentences("x.json", data, SETTINGS)
        assert "\n" not in str(refusal.value)
    lists = pa.table({"text": ["a"], "answers": pa.array([[1, 2]], pa.list_(pa.int64()))})
    file = io.BytesIO()
    parquet.write_table(lists, file)
    assert list(read_sentences("x.parquet", file.getvalue(), SETTINGS).frame) == []
