"""`python -m bertviz_core vectors explain` and `explain_vectors`: JSON, exit codes, refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.models.catalog import bundled_folder
from tests.cli.conftest import Command

MODEL = "all-MiniLM-L6-v2"
TEXTS = ["A cat sat on the mat.", "The feline rested on a rug, and then it slept.", "Stocks fell on Monday.", "Rain."]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors that sentence-transformers pools by the first token, without the folder's normalisation."""
    from sentence_transformers.sentence_transformer import modules

    library = SentenceTransformer(str(bundled_folder(MODEL)), device="cpu")
    made = SentenceTransformer(modules=[library[0], modules.Pooling(384, "cls")], device="cpu").encode(TEXTS)
    path = tmp_path_factory.mktemp("vectors") / "v.jsonl"
    rows = zip(TEXTS, made.tolist(), strict=True)
    path.write_text("\n".join(json.dumps({"text": text, "embedding": row}) for text, row in rows))
    return path


def test_the_recipe_is_named(file: Path, command: Command) -> None:
    done = command("vectors", "explain", MODEL, str(file), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    best = found["matches"][0]
    assert found["reproduced"]
    assert (best["pooling"], best["layer"], best["lengths"]) == ("cls", 6, "as pooled")
    assert best["differences"] == ["pooling", "lengths"]
    assert best["worst_cosine"] > 1 - 1e-6
    vectors = np.array([json.loads(line)["embedding"] for line in file.read_text().splitlines()])
    own = SentenceTransformer(str(bundled_folder(MODEL)), device="cpu").encode(TEXTS)
    cosines = (own * vectors).sum(axis=1) / np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(
        (found["own"]["mean_cosine"], found["own"]["worst_cosine"]), (cosines.mean(), cosines.min()), atol=1e-6
    )
    lines = command("vectors", "explain", MODEL, str(file)).stdout
    assert "first token" in lines
    assert "mean" in lines


def test_a_check_has_an_exit_code(file: Path, tmp_path: Path, command: Command) -> None:
    assert command("vectors", "explain", MODEL, str(file), "--check", "0.999").returncode == 0
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(len(TEXTS), 384)))
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    unknown = ("vectors", "explain", MODEL, str(tmp_path / "v.npy"), "--texts", str(tmp_path / "texts.txt"))
    assert command(*unknown).returncode == 0
    done = command(*unknown, "--check", "0.5", "--json")
    assert done.returncode == 1
    assert not json.loads(done.stdout)["reproduced"]
    assert json.loads(done.stdout)["summary"].startswith("None of ")


def test_the_method_finds_the_same(file: Path, command: Command) -> None:
    vectors = [json.loads(line)["embedding"] for line in file.read_text().splitlines()]
    model = open_model(MODEL)
    result = model.explain_vectors(TEXTS, vectors)
    assert result.data.reproduced
    printed = json.loads(command("vectors", "explain", MODEL, str(file), "--json").stdout)
    made = result.to_json()
    assert made["matches"][0]["differences"] == printed["matches"][0]["differences"]
    assert made.keys() == printed.keys()
    assert list(result.to_pandas()["recipe"])[0].startswith("first token")
    assert model.explain_vectors(TEXTS, vectors, prompts=["query: "]).data.runs == result.data.runs


WRONG: dict[str, tuple[list[str], Any, str]] = {
    "other rows": (TEXTS[:3], np.ones((4, 384)), "3 texts and 4 vectors"),
    "NaN": (TEXTS, np.full((4, 384), np.nan), "Vector 1 has NaN or infinity"),
    "zeros": (TEXTS, np.zeros((4, 384)), "Vector 1 is all zeros"),
    "more dimensions": (TEXTS, np.ones((4, 385)), "385 dimensions, more than any recipe of .* another model"),
    "no rows": ([], np.ones((0, 384)), "0 texts and 0 vectors"),
    "one number each": (TEXTS, np.ones(4), r"the shape \(4,\)"),
    "no numbers": (TEXTS, [["a"]] * 4, "no array of numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_vectors_are_refused_in_one_sentence(case: str) -> None:
    texts, vectors, words = WRONG[case]
    with pytest.raises(TextError, match=words) as refusal:
        open_model(MODEL).explain_vectors(texts, vectors)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_wrong_is_one_line(tmp_path: Path, command: Command) -> None:
    (tmp_path / "v.json").write_text("[[1, 2]]")
    done = command("vectors", "explain", MODEL, str(tmp_path / "v.json"))
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("'v.json' has vectors without their texts")
