"""`python -m bertviz_core bits`: files of sentences and queries, the method's numbers, refusals in one sentence."""

import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.util.quantization import quantize_embeddings

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.models.catalog import bundled_folder
from tests.cli.conftest import Command

MODEL = "all-MiniLM-L6-v2"
TEXTS = ["A cat sat.", "A dog ran home.", "The river bank.", "Money and banks.", "A tree.", "Rain fell.", "Snow, too."]
QUERIES = ["Where is my pet?", "It was wet."]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The sentences, one per line."""
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS))
    return path


def test_command_and_method_have_the_numbers_of_the_library(file: Path, tmp_path: Path, command: Command) -> None:
    asked = tmp_path / "queries.csv"
    asked.write_text("number,words\n1,Where is my pet?\n2,It was wet.\n")
    numbers = ("-k", "2", "--dimensions", "384,64", "--calibration", "5", "--oversampling", "3")
    more = ("--queries", str(asked), "--query-column", "words")
    done = command("bits", MODEL, str(file), *more, *numbers, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    own = open_model(MODEL).sentences(TEXTS)
    method = own.bits(QUERIES, 2, oversampling=3, calibration=5, dimensions=[64, 384])
    assert found["formats"] == json.loads(json.dumps(method.to_json()["formats"]))
    assert (found["queries"], found["neighbours"], found["calibration"]) == (QUERIES, 2, 5)
    assert len(method.to_pandas()) == len(found["formats"]) == 16
    library = SentenceTransformer(str(bundled_folder(MODEL)), device="cpu")
    texts, queries = library.encode(TEXTS), library.encode(QUERIES)
    ranged = texts[[place * 7 // 5 for place in range(5)]]
    codes = [quantize_embeddings(each, "int8", calibration_embeddings=ranged).astype(int) for each in (queries, texts)]
    near = [np.argsort(-scores, axis=1)[:, :2] for scores in (queries @ texts.T, codes[0] @ codes[1].T)]
    recall = np.mean([len({*one} & {*other}) / 2 for one, other in zip(*np.array(near).tolist(), strict=True)])
    (row,) = [
        each
        for each in found["formats"]
        if (each["format"], each["rescored"], each["dimensions"]) == ("int8", False, 384)
    ]
    assert row["recall"] == pytest.approx(recall)
    assert row["bytes_per_vector"] == 384


def test_lines_of_a_terminal(file: Path, command: Command) -> None:
    done = command("bits", MODEL, str(file))
    assert done.returncode == 0, done.stderr
    assert "7 sentences of 384 dimensions, recall@3, the ranges of int8 by 7 sentences. Each sentence" in done.stdout
    assert "binary, rescored" in done.stdout
    assert "are those of all 7 sentences; below 100" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-k", "7"), "give k from 1 to 6"),
        (("-k", "-1"), "is no number from 0"),
        (("--dimensions", "385"), "have 384 dimensions"),
        (("--calibration", "8"), "give 2 to 7"),
        (("--oversampling", "0"), "give 1 to 20"),
        (("--query-column", "a"), "no --queries is given"),
        (("--query-prompt", "unknown"), "prompt"),
    ],
)
def test_refusals_are_one_sentence(arguments: tuple[str, str], words: str, file: Path, command: Command) -> None:
    more = ("--queries", str(file)) if "--query-prompt" in arguments else ()
    done = command("bits", MODEL, str(file), *arguments, *more)
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_values_of_the_method() -> None:
    found = open_model(MODEL).sentences(TEXTS)
    for wrong in ({"k": 0}, {"k": -1}, {"k": 7}, {"dimensions": []}, {"dimensions": [0]}, {"calibration": 1}):
        with pytest.raises(TextError):
            found.bits(**wrong)
    with pytest.raises(TextError, match="at least 3"):
        open_model(MODEL).sentences(TEXTS[:2]).bits()
