"""`python -m bertviz_core chunks` and `model.chunks`: JSON, a file, figures, refusals.

Covers `bertviz_core/cli/chunks.py`, `bertviz_core/questions/texts/chunks.py`,
`bertviz_core/questions/tables/chunks.py`.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.models.catalog import bundled_folder
from tests.cli.conftest import Command

MODEL = "all-MiniLM-L6-v2"
TEXT = "The bees leave the hive. They gather nectar. A bridge spans the river. It is made of steel."
QUERY = "Who makes honey?"


def test_the_command_is_the_method(command: Command) -> None:
    done = command("chunks", MODEL, TEXT, "--tokens", "12", "--overlap", "2", "--query", QUERY, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    result = open_model(MODEL).chunks(TEXT, tokens=12, overlap=2, query=QUERY)
    assert found == result.to_json()
    assert [each["text"] for each in found["chunks"]] == list(result.chunks.texts)
    library = SentenceTransformer(str(bundled_folder()), device="cpu")
    alone, query = library.encode(list(result.chunks.texts)), library.encode(QUERY)
    np.testing.assert_allclose([each["alone"] for each in found["chunks"]], alone @ query, atol=2e-6)
    assert found["query"] == QUERY
    assert abs(sum(each["share"] for each in found["shares"]["tokens"]) - 1) < 1e-6
    assert abs(result.shares.shares.sum() - 1) < 1e-9
    lines = command("chunks", MODEL, TEXT, "--tokens", "12").stdout
    assert "query: The bees leave the hive." in lines
    assert "rank late" in lines
    assert len(result.to_pandas()) == len(result.chunks.texts)
    for name in result.figures:
        assert result.figure(name).data


def test_a_text_may_be_a_file_or_the_standard_input(command: Command, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(f"\ufeff{TEXT}\n", encoding="utf-8")
    typed, of_file = (
        json.loads(command("chunks", MODEL, each, "--json").stdout) for each in (TEXT, str(tmp_path / "text.txt"))
    )
    assert typed == of_file


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("",), "The text is empty"),
        (("dog",), "single token"),
        ((TEXT, "--tokens", "0"), "give 1 to 254"),
        ((TEXT, "--tokens", "300"), "at most 256 tokens"),
        ((TEXT, "--tokens", "5", "--overlap", "5"), "give an overlap of 0 to 4"),
    ],
)
def test_a_refusal_is_one_sentence(more: tuple[str, ...], words: str, command: Command) -> None:
    done = command("chunks", MODEL, *more)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_text_that_is_no_text_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    done = command("chunks", MODEL, str(tmp_path / "image.png"))
    assert done.returncode == 2
    assert "is a binary file" in done.stderr
    with pytest.raises(TextError, match="no number of tokens"):
        open_model(MODEL).compute("late-chunks", TEXT, chunk_tokens="many")
