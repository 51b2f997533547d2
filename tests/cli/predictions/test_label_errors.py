"""`python -m bertviz_core label-errors`: JSON, the file of decisions, refusals; the same numbers as the method."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.label_errors import confident_joint, suspects
from bertviz_core.predictions.probing.results import LabelErrors
from bertviz_core.questions.tables.labelled.label_errors import estimate_words
from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head

WORDS = ("I love my pet", "the river bank", "python", "my pets", "two rivers", "coding in python", "One bank.", "=1+1")
TEXTS = [f"{word} {place}" for place in range(3) for word in WORDS]
LABELS = [("good", "Bad", "bad")[(5 * place + place // 7) % 3] for place in range(len(TEXTS))]
CLASSES = {0: "neutral", 1: "good", 2: "bad", 3: "Bad"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    save_tiny_head("bert", "sequence-classification", folder / "classes", num_labels=4, id2label=CLASSES)
    rows = [*zip(TEXTS, LABELS, strict=True), ("no label", ""), ("alone", "lone")]
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([("words", "gold", "same"), *((*row, "x") for row in rows)])
    return folder


@pytest.mark.slow
def test_the_command_prints_what_the_method_gives_and_writes_decisions(place: Path, command: Command) -> None:
    words = ("label-errors", str(place / "classes"), str(place / "labels.csv"), "--column", "words", "--gold", "gold")
    more = ("--suspects-by", "noise rate", "--seed", "7", "--json", "-o", str(place / "decisions.csv"))
    done = command(*words, *more)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    model = open_model(place / "classes")
    result = model.label_errors([*TEXTS, " ", "alone"], [*LABELS, "x", "lone"], suspects_by="noise rate", seed=7)
    expected = result.to_json()
    assert len(expected["suspects"]) > 2
    for key in printed.keys() - {"source", "notices"}:
        assert printed[key] == expected[key], key
    assert "1 row without a label left out." in done.stderr
    assert "no other text has the same label: 1 text ('lone')" in done.stderr
    with (place / "decisions.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:5] == ["row", "text", "given", "suggested", "decision"]
    for row, suspect, decided in zip(rows, printed["suspects"], result.to_pandas().itertuples(), strict=True):
        assert (int(row["row"]), row["given"]) == (suspect["row"], LABELS[suspect["row"] - 1])
        assert row["text"] == ("'" if suspect["text"].startswith("=") else "") + suspect["text"]
        assert (row["suggested"], row["decision"], decided.decision) == (suspect["suggested"], "", "")
        assert suspect["suggested"] != suspect["given"]


def test_a_head_gives_its_own_probabilities(place: Path) -> None:
    model = open_model(place / "classes")
    result = model.label_errors(TEXTS, LABELS, probabilities_from="head")
    assert result.data.classes == tuple(CLASSES.values())
    for at in (0, 5, 17):
        own = model.predict(TEXTS[at]).probabilities
        np.testing.assert_allclose(result.data.probabilities[at], list(own.values()), atol=1e-6)
    assert [result.data.classes[each] for each in result.data.gold] == LABELS
    assert "The probabilities are those of the model's own task head" in " ".join(result.data.notices)
    assert result.data.notices[0].startswith("The nearest texts are by sentence vectors, which the head does not read")


def test_what_the_cells_count_is_told_from_answers_and_suspects() -> None:
    """Thresholds (0.3 + 0.6) / 2 = 0.45 of a, (0.9 + 0.54) / 2 = 0.72 of b: the last text is counted in a."""
    probabilities, gold = np.array([[0.3, 0.7], [0.6, 0.4], [0.1, 0.9], [0.46, 0.54]]), np.array([0, 0, 1, 1])
    joint, none = confident_joint(probabilities, gold), np.zeros(0, dtype=np.int64)
    places = suspects(probabilities, gold, joint, "confident learning", "self-confidence")
    assert (joint.counts.tolist(), places.tolist()) == ([[1, 0], [1, 1]], [])
    result = LabelErrors(
        "m", "list", ("",) * 4, np.arange(4), ("a", "b"), gold, "head", probabilities, joint, "confident learning",
        "self-confidence", probabilities[:, 0], places, none, none.reshape(0, 2, 3), np.zeros((0, 2, 3))
    )  # fmt: skip
    words = estimate_words(result)
    assert "0 of 4 labels of 'list' are suspect; by the task head, confident learning estimates 1 (25.0%)" in words
    assert "For 1 text another class is the most probable one" in words
    assert suspects(probabilities, gold, joint, "another class", "self-confidence").tolist() == [0]
    assert "Its answers, the most probable classes, agree with 75.0% of the labels" in words
    assert "For 1 text this is not the most probable class. It is counted off the diagonal although the label" in words
    assert "The cells leave out 1 text below the threshold of every class." in words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--gold", "same"), "'labels.csv' has one class, 'x'"),
        (("--gold", "none"), "has no column 'none'"),
        (("--gold", "gold", "--probabilities-from", "magic"), "There is no --probabilities-from=magic"),
        (("--gold", "gold", "--suspects-by", "magic"), "There is no --suspects-by=magic"),
        (("--gold", "gold", "--suspects-order", "magic"), "There is no --suspects-order=magic"),
        (("--gold", "gold", "--seed", "x"), "There is no --seed=x"),
        (("--gold", "gold", "--layer", "99"), "There is no layer '99'"),
        (("--gold", "gold", "-o", "decisions.txt"), "give 'decisions.txt' the ending .csv"),
    ],
)
def test_refusals_are_one_line(words: tuple[str, ...], message: str, place: Path, command: Command) -> None:
    done = command("label-errors", str(place / "classes"), str(place / "labels.csv"), "--column", "words", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_labels_that_a_head_lacks_are_refused_by_name(place: Path) -> None:
    with pytest.raises(
        TextError, match=r"has no class 'awful'; its classes are 'neutral', .* \(probabilities_from=probe\)"
    ):
        open_model(place / "classes").label_errors(
            ["a", "b", "c", "d"], ["good", "awful", "good", "awful"], probabilities_from="head"
        )
    with pytest.raises(TextError, match="texts has 2 entries and labels 1"):
        open_model(place / "classes").label_errors(["a", "b"], ["good"])
