"""`python -m bertviz_core compare --text --task`, and `Model.compare(text=...)`: predictions of two models, refusals.

Covers `bertviz_core/api/comparisons.py`.
"""

import json
from functools import partial
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import BertvizError, open_model
from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.two_tokenizers import MIXED, save_byte_head
from tests.pages.labels import NAMES, named

Pair = tuple[str, str]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Two classifiers with other tokenizers and the same labels in another order, and one for tags beside them."""
    place = tmp_path_factory.mktemp("pair")
    first = save_tiny_head("bert", "sequence-classification", place / "first", **named(*NAMES))
    save_tiny_head("bert", "token-classification", place / "tags")
    second = save_byte_head("sequence-classification", place / "second", **named(*NAMES[::-1]))
    return str(first), str(second)


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "compare")


def test_the_json_has_the_probabilities_of_transformers(run: Command, pair: Pair) -> None:
    code, out, err = run(*pair, "--text", MIXED, "--task", "sequence-classification", "--json")
    assert code == 0, err
    shown = json.loads(out)
    assert {"tensors", "added"} <= shown.keys()
    assert "behaviour" not in shown
    predictions = shown["predictions"]
    for folder, side in zip(pair, ("first", "second"), strict=True):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        with torch.no_grad():
            p = model(**tokenizer(MIXED, return_tensors="pt")).logits[0].softmax(-1).tolist()
        expected = dict(zip(model.config.id2label.values(), p, strict=True))
        assert {row["name"]: row[side] for row in predictions["rows"]} == pytest.approx(expected, abs=1e-6)
        assert predictions["answers"][side] == max(expected, key=expected.__getitem__)


def test_a_text_without_a_task_names_the_tasks_that_both_heads_answer(run: Command, pair: Pair) -> None:
    line = "What both heads predict for the text is compared with --task sequence-classification."
    assert line in run(*pair, "--text", MIXED).stderr.splitlines()
    assert line not in run(*pair, "--text", MIXED, "--task", "sequence-classification").stderr
    tags = str(Path(pair[0]).parent / "tags")
    assert "is compared with" not in run(pair[0], tags, "--text", MIXED).stderr


@pytest.mark.slow
def test_lines_and_library_have_the_same_rows(run: Command, pair: Pair) -> None:
    code, out, _ = run(*pair, "--text", MIXED, "--task", "sequence-classification")
    result = open_model(pair[0]).compare(pair[1], text=MIXED)
    assert code == 0
    assert all(line in out for line in str(result).splitlines() if line)
    assert result.to_pandas()["class"].tolist() == list(NAMES)
    assert result.figure().data[0].x.shape == (3,)
    shown = json.loads(run(*pair, "--text", MIXED, "--task", "sequence-classification", "--json").stdout)
    assert result.to_json() == shown["predictions"]
    assert result.answers == tuple(shown["predictions"]["answers"].values())


@pytest.mark.parametrize("view", ["words", "surprise", "lens"])
def test_views_of_a_word_head(run: Command, view: str) -> None:
    code, out, err = run(
        "splade-tiny", "splade-tiny", "--text", "A dog.", "--task", "masked-lm", "--view", view, "--json"
    )
    predictions = json.loads(out)["predictions"]
    assert code == 0
    assert predictions["kind"] == view
    assert {row["difference"] for row in predictions["rows"]} == {0}
    assert "The same model twice" in err


def test_another_task_is_refused_in_one_line_everywhere(run: Command, pair: Pair) -> None:
    tags = str(Path(pair[0]).with_name("tags"))
    code, out, err = run(pair[0], tags, "--text", "a", "--task", "sequence-classification")
    assert (code, out) == (2, "")
    with pytest.raises(BertvizError) as refused:
        open_model(pair[0]).compare(tags, text="a")
    assert err.splitlines() == [str(refused.value)]
    assert "predicts tags" in err


def test_text_or_texts_and_what_belongs_to_them(pair: Pair) -> None:
    model = open_model(pair[0])
    with pytest.raises(BertvizError, match="Give either texts"):
        model.compare(pair[1])  # type: ignore[call-overload]  # what a caller may do
    with pytest.raises(BertvizError, match="Give either texts"):
        model.compare(pair[1], ["a"], text="a")  # type: ignore[call-overload]  # what a caller may do
    with pytest.raises(BertvizError, match="gold and a list of second texts"):
        model.compare(pair[1], gold=["a"], text="a")  # type: ignore[call-overload]  # what a caller may do
    with pytest.raises(BertvizError, match="view"):
        open_model("splade-tiny").compare("splade-tiny", text="a dog", view="terms")
