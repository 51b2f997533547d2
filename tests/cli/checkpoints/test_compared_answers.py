"""`python -m bertviz_core compare --file`: answers of transformers' own classes, scores of scikit-learn, refusals.

Covers `bertviz_core/questions/predictions/two_models.py`, `bertviz_core/questions/tables/predictions.py`.
"""

import json
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
import torch
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.figures.checkpoints.comparison import score_frame
from bertviz_core.predictions.probing.reading import example_set
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions import two_models as questions
from bertviz_core.questions.predictions.labelled_texts import text_answers, with_pairs
from bertviz_core.questions.tables.predictions import listed_texts, p_value_text
from bertviz_core.settings import Settings
from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.labels import NAMES, TAGS, named

WORDS = ("I love my pet python.", "The river", "the bank", "python", "my pet, my love.", "The language", "I", "pets")
TEXTS = tuple(f"{first} {second}" for first in WORDS for second in WORDS)
GOLD = tuple(NAMES[place % 5 % 3] for place in range(len(TEXTS)))
ROUNDED = "itself, rounded to float8_e4m3fn"


class Two(NamedTuple):
    """Two classifiers, a table of texts, and the answers of transformers' own classes."""

    first: str
    second: str
    table: Path
    one: list[str]
    other: list[str]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Two:
    """Tiny classifiers with the same labels in another order."""
    place = tmp_path_factory.mktemp("two")
    first = save_tiny_head("bert", "sequence-classification", place / "first", **named(*NAMES))
    second = save_tiny_head("roberta", "sequence-classification", place / "second", **named(*NAMES[::-1]))
    gold = ["", *GOLD[1:]]
    pd.DataFrame({"sentence": TEXTS, "right": gold}).to_csv(place / "texts.csv", index=False)
    return Two(str(first), str(second), place / "texts.csv", plain(first), plain(second))


def plain(folder: Path) -> list[str]:
    """The answers of transformers' own class, each text alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        places = [int(model(**tokenizer(text, return_tensors="pt")).logits.argmax()) for text in TEXTS]
    return [model.config.id2label[place] for place in places]


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "compare")


@pytest.mark.slow
def test_the_json_has_the_tensors_and_the_scores_of_transformers_answers(run: Command, two: Two) -> None:
    code, out, err = run(two.first, two.second, "--file", str(two.table), "--gold", "right", "--json")
    found = json.loads(out)
    assert code == 0, err
    assert {"tensors", "relative_change", "added"} <= found.keys()
    assert (found["first"], found["second"], found["texts"], found["compared"]) == (*two[:2], 64, 63)
    assert [(each["first"], each["second"]) for each in found["answers"]] == list(zip(two.one, two.other, strict=True))
    labels, gold = found["labels"], GOLD[1:]
    assert found["confusion"] == confusion_matrix(two.one, two.other, labels=labels).tolist()
    for key, measure in (("accuracy", accuracy_score), ("macro_f1", partial(f1_score, average="macro"))):
        score = found[key]
        assert score["first"] == pytest.approx(measure(gold, two.one[1:]), abs=1e-6)
        assert score["second"] == pytest.approx(measure(gold, two.other[1:]), abs=1e-6)
        assert score["interval"][0] <= score["difference"] <= score["interval"][1]
    mended = [at for at in range(1, 64) if two.one[at] != GOLD[at] == two.other[at]]
    assert sorted(found["mended"]) == mended
    assert "1 text without a gold label left out of the comparison." in err
    assert found["answers"][0]["kind"] in ("same", "changed")


def test_the_lines_have_the_scores_and_name_the_changed_texts(run: Command, two: Two) -> None:
    code, out, _ = run(two.first, two.second, "--file", str(two.table), "--column", "sentence", "--gold", "right")
    assert code == 0
    agreement = accuracy_score(two.one, two.other)
    assert f"to 64 texts: the same answer to {agreement:.1%}" in out
    (accuracy,) = [line for line in out.splitlines() if line.startswith("accuracy ")]
    assert accuracy.split()[1:3] == [f"{accuracy_score(GOLD[1:], each[1:]):.4f}" for each in (two.one, two.other)]
    right = [
        [answer == label for answer, label in zip(each[1:], GOLD[1:], strict=True)] for each in (two.one, two.other)
    ]
    mended, broken = (
        sum(one != way and other == way for one, other in zip(*right, strict=True)) for way in (True, False)
    )
    expected = binomtest(mended, mended + broken).pvalue if mended + broken else 1
    assert f"{mended} mended, {broken} broken; McNemar's exact test: p {p_value_text(expected)}" in out
    rows = [line for line in out.splitlines() if line.startswith(("mended ", "broken "))]
    assert rows
    assert all(any(text in row for text in TEXTS) for row in rows)


def test_a_small_p_value_is_not_printed_as_0() -> None:
    assert [p_value_text(value) for value in (1.0, 0.0314, 0.001, 0.0009, 0.0)] == [
        "= 1.000", "= 0.031", "= 0.001", "< 0.001", "< 0.001",
    ]  # fmt: skip


@pytest.mark.slow
def test_without_gold_labels_only_the_answers_are_compared(run: Command, two: Two) -> None:
    found = json.loads(run(two.first, two.second, "--file", str(two.table), "--json").stdout)
    assert "accuracy" not in found
    assert found["changed"] == [at for at in range(64) if two.one[at] != two.other[at]]
    lines = run(two.first, two.second, "--file", str(two.table)).stdout
    assert "McNemar" not in lines
    assert sum(line.startswith("changed ") for line in lines.splitlines()) == min(30, len(found["changed"]))


@pytest.mark.slow
def test_the_same_model_twice_and_a_rounded_copy(run: Command, two: Two) -> None:
    code, out, err = run(two.first, two.first, "--file", str(two.table), "--gold", "right", "--json")
    found = json.loads(out)
    assert (code, found["agreement"], found["accuracy"]["interval"], found["mended"]) == (0, 1, [0, 0], [])
    assert "The same model twice: every difference is exactly 0." in err
    copy = json.loads(run(two.first, ROUNDED, "--file", str(two.table), "--gold", "right", "--json").stdout)
    rounded = AutoModelForSequenceClassification.from_pretrained(two.first).eval()
    tokenizer = AutoTokenizer.from_pretrained(two.first)
    with torch.no_grad():
        for weight in rounded.parameters():
            weight.copy_(weight.to(torch.float8_e4m3fn).to(weight.dtype))
        places = [int(rounded(**tokenizer(text, return_tensors="pt")).logits.argmax()) for text in TEXTS]
    assert [each["second"] for each in copy["answers"]] == [NAMES[place] for place in places]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gold", "right"), "give it with --file"),
        (("--file", "TABLE", "--gold", "nothing"), "has no column 'nothing'"),
        (("--file", "TABLE", "--pair", "nothing"), "has no column 'nothing'"),
        (("--file", "EMPTY"), "empty"),
        (("--file", "TABLE", "--task", "token-classification"), "token-classification"),
    ],
)
def test_what_is_wrong_is_one_line(
    run: Command, two: Two, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    places = {"TABLE": str(two.table), "EMPTY": str(empty)}
    code, out, err = run(two.first, two.second, *(places.get(each, each) for each in arguments))
    assert (code, out) == (2, "")
    assert words in err.splitlines()[-1]
    assert err.count("\n") <= 2  # the column that is read, and the refusal


def test_heads_without_one_class_per_text_are_named(run: Command, two: Two, tmp_path: Path) -> None:
    tags = save_tiny_head("bert", "token-classification", tmp_path / "tags", **named(*TAGS))
    code, _, err = run(str(tags), str(tags), "--file", str(two.table))
    assert code == 2
    assert "(token-classification) gives none, so its answers are not compared" in err


def test_beside_a_model_without_a_head_the_refusal_says_what_compares_both(command: Command, two: Two) -> None:
    both = [two.first, "all-MiniLM-L6-v2"]
    text, file = ("--text", "my pet", "--task", "sequence-classification"), ("--file", str(two.table))
    for words in ((*both, *file), (*both[::-1], *file), (*both, *text)):
        refused = command("compare", *words)
        assert refused.returncode == 2
        assert (
            "calibration compares probes on the vectors of both models: --probabilities-from=probe." in refused.stderr
        )
    probed = ("--gold", "right", "--probabilities-from", "probe", "--other", both[1], "--json")
    followed = json.loads(command("calibration", two.first, str(two.table), *probed).stdout)
    assert (followed["model"], followed["other"]["model"]) == (f"{two.first} + probe", f"{both[1]} + probe")


@pytest.mark.slow
def test_the_library_gives_the_same_and_draws_it(run: Command, two: Two) -> None:
    result = open_model(two.first).compare(two.second, TEXTS, ["", *GOLD[1:]])
    printed = json.loads(run(two.first, two.second, "--file", str(two.table), "--gold", "right", "--json").stdout)
    found = result.to_json()
    assert {key: printed[key] for key in found} == found
    frame = result.to_pandas()
    assert frame["first"].tolist() == two.one
    assert (frame["kind"] == "mended").sum() == len(found["mended"])
    assert result.figures == ("answers-compared", "scores-compared")
    assert list(result.figure("scores-compared").data[2].x) == pytest.approx(
        [100 * each for each in score_frame(result.data)["difference"]]
    )
    without = open_model(two.first).compare(two.second, TEXTS[:3], pair="the river")
    assert without.figures == ("answers-compared",)
    assert set(without.to_pandas()["second text"]) == {"the river"}


@pytest.mark.slow
@pytest.mark.parametrize("by", ["length", "word:river", "column:topic"])
def test_slices_are_those_of_pandas_groups_in_lines_json_and_library(
    run: Command, two: Two, tmp_path: Path, by: str
) -> None:
    topics = [f"topic {place % 4}" for place in range(len(TEXTS))]
    table = tmp_path / "topics.csv"
    pd.DataFrame({"sentence": TEXTS, "right": GOLD, "topic": topics}).to_csv(table, index=False)
    options = ("--file", str(table), "--gold", "right", "--slices", by)
    found = json.loads(run(two.first, two.second, *options, "--json").stdout)
    frame = pd.DataFrame({"right": GOLD, "one": two.one, "other": two.other, "topic": topics})
    groups = {
        "length": pd.Series(["up to 5 words" if len(text.split()) < 6 else "6–10 words" for text in TEXTS]),
        "word:river": pd.Series([f"with{'' if 'river' in text else 'out'} 'river'" for text in TEXTS]),
        "column:topic": frame["topic"],
    }[by]
    assert {each["slice"] for each in found["slices"]} == set(groups)
    for each in found["slices"]:
        group = frame[groups == each["slice"]]
        assert each["places"] == group.index.tolist()
        assert each["first_accuracy"] == pytest.approx(accuracy_score(group["right"], group["one"]))
        assert each["second_accuracy"] == pytest.approx(accuracy_score(group["right"], group["other"]))
        if len(group) >= 10:
            assert each["low"] <= each["difference"] <= each["high"]
        else:
            assert each["low"] is each["high"] is None
    values = topics if by.startswith("column") else None
    result = open_model(two.first).compare(two.second, TEXTS, GOLD).by(by.partition(":topic")[0], values)
    assert {key: found[key] for key in result.to_json()} == result.to_json()
    assert list(result.figure().data[0].x) == pytest.approx(100 * result.to_pandas()["difference"])
    lines = run(two.first, two.second, *options).stdout.splitlines()
    assert any(line.startswith(found["slices"][0]["slice"]) for line in lines)


@pytest.mark.slow
def test_slices_that_cannot_be_made_are_one_sentence(run: Command, two: Two) -> None:
    options = ("--file", str(two.table), "--gold", "right", "--slices")
    for by, words in (
        ("colour", "--slices"),
        ("word:", "A word is missing"),
        ("column", "column"),
        ("column:colour", "has no column 'colour'"),
    ):
        done = run(two.first, two.second, *options, by)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr.splitlines()[-1]
    assert "--slices" in run(two.first, two.second, "--slices", "length").stderr
    with pytest.raises(TextError, match="2 values came for 64 texts"):
        open_model(two.first).compare(two.second, TEXTS).by("column", ["a", "b"])


def test_parts_of_the_list_have_the_texts_of_their_kind(two: Two) -> None:
    compared = open_model(two.first).compare(two.second, TEXTS, ["", *GOLD[1:]]).data
    kinds = compared.kinds
    for part in ("mended", "broken", "both wrong", "both right"):
        assert sorted(listed_texts(compared, part)) == [at for at in range(64) if kinds[at] == part]
    assert sorted(listed_texts(compared, "changed")) == compared.changed.tolist()
    assert compared.gold is not None
    assert listed_texts(compared, "changed")[: len(compared.gold.mended)] == compared.gold.mended.tolist()
    assert listed_texts(compared, "all") == list(range(64))


def test_answers_of_both_models_are_computed_once_and_kept(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = OpenedModel(two.first, Settings.from_environment(any_folder=True))
    other = OpenedModel(two.second, opened.settings)
    monkeypatch.setattr(opened, "other", lambda name: other)
    for each in (opened, other):
        text_answers(each, with_pairs(TEXTS, None, "sequence-classification"))
        monkeypatch.setattr(each, "head", lambda task: pytest.fail("a second run"))
    options = questions.compared_options(two.second, TEXTS, GOLD)
    answer = questions.compared_answers(opened, options)
    assert answer.result.answers == (tuple(two.one), tuple(two.other))
    assert questions.score_difference(opened, options).result is answer.result


def test_progress_counts_the_texts_of_both_models_and_may_cancel(two: Two) -> None:
    opened = OpenedModel(two.first, Settings.from_environment(any_folder=True))
    done: list[tuple[int, int]] = []
    questions.compared_answers(opened, questions.compared_options(two.second, TEXTS), Job(done, 10**9))
    assert done[-1] == (128, 128)
    assert [each for each, _ in done] == sorted(each for each, _ in done)
    again = OpenedModel(two.first, opened.settings)
    with pytest.raises(InterruptedError):
        questions.compared_answers(again, questions.compared_options(two.second, TEXTS), Job([], 70))


class Job:
    """A job that notes its progress, and stops after a number of steps."""

    def __init__(self, done: list[tuple[int, int]], most: int) -> None:
        self.done, self.most = done, most

    def __call__(self, done: int, total: int, /) -> None:
        self.done.append((done, total))
        if done > self.most:
            raise InterruptedError

    def show(self, so_far: object, /) -> None:
        """No intermediate answer is expected."""
        raise AssertionError


def test_the_example_set_is_the_default_and_its_labels_need_heads_of_theirs(two: Two) -> None:
    opened = OpenedModel(two.first, Settings.from_environment(any_folder=True))
    answer = questions.compared_answers(opened, questions.compared_options(two.second, ()))
    assert answer.result.texts == example_set().texts
    assert answer.result.gold is None
    assert any("No gold label ('cooking'" in notice for notice in answer.notices)
    with pytest.raises(TextError, match="Scores need gold labels"):
        questions.score_difference(opened, questions.compared_options(two.second, ()))
    with pytest.raises(TextError, match="3 texts came, and each row needs 2: text, gold label"):
        questions.compared_answers(opened, Options(("a", "b", "c"), values={"other": two.second, "with_gold": "true"}))
