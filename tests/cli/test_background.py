"""`python -m bertviz_core background`, `similarity --scale`, and the methods of the library: the same numbers."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import percentileofscore
from sentence_transformers import SentenceTransformer

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.sentences.analysis.background import unrelated_texts
from tests.cli.conftest import Command

MODEL = "all-MiniLM-L6-v2"
TEXTS = ["A cat sat on the mat.", "The feline rested on a rug.", "Stocks fell on Monday."]


def test_command_method_and_scipy_agree(command: Command) -> None:
    done = command("similarity", MODEL, *TEXTS, "--scale", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    model = open_model(MODEL)
    result = model.sentences(TEXTS)
    ranks = np.array(found["percentile_ranks"], dtype=float)
    np.testing.assert_array_equal(ranks, result.percentile_ranks)
    library = SentenceTransformer(str(bundled_folder(MODEL)), device="cpu")
    vectors, own = library.encode(list(unrelated_texts())), library.encode(TEXTS)
    background = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        expected = percentileofscore(background, own[one] @ own[other], kind="mean")
        assert abs(ranks[one, other] - expected) < 0.02
    assert found["background"]["pairs"] == 19_900
    np.testing.assert_allclose(found["background"]["percentile_95"], np.percentile(background, 95), atol=1e-5)
    made = model.background()
    assert made.percentile_rank(result.similarity[0, 1]) == ranks[0, 1]
    assert "percentile rank" in command("similarity", MODEL, *TEXTS, "--scale").stdout


def test_each_of_two_models_has_its_own_scale(command: Command) -> None:
    other = "itself, rounded to bfloat16"
    found = json.loads(command("similarity", MODEL, *TEXTS, "--other", other, "--scale", "--json").stdout)
    alone = json.loads(command("similarity", MODEL, *TEXTS, "--scale", "--json").stdout)
    assert found["first_percentile_ranks"] == alone["percentile_ranks"]
    assert found["second_background"] != found["first_background"]
    assert "rank in second" in command("similarity", MODEL, *TEXTS, "--other", other, "--scale").stdout


def test_the_background_is_printed_and_of_a_file(tmp_path: Path, command: Command) -> None:
    lines = command("background", MODEL).stdout
    assert "Of 19,900 pairs of unrelated texts, 95% have a cosine below " in lines
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS))
    found = json.loads(command("background", MODEL, "--file", str(path), "--json").stdout)
    made = open_model(MODEL).background(TEXTS)
    assert found["background"]["of"] == "this list"
    np.testing.assert_allclose(found["similarities"], made.similarities, atol=1e-6)
    assert found.keys() == made.to_json().keys()
    apart = json.loads(command("background", MODEL, "--measure", "euclidean", "--json").stdout)
    assert apart["background"]["measure"] == "euclidean"
    assert list(made.to_pandas().columns) == ["percentile", "pairs of this list"]


def test_what_does_not_go_together_is_one_line(command: Command, tmp_path: Path) -> None:
    done = command("similarity", MODEL, *TEXTS, "--scale", "--dimensions", "8")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("--scale goes with sentences")
    done = command("background", MODEL, "--measure", "manhattan")
    assert done.returncode == 2
    assert "measure" in done.stderr
    with pytest.raises(TextError, match="at least 3 different texts"):
        open_model(MODEL).background(["one", "two"])
