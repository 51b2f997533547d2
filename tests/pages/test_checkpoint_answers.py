"""Answers of two models on the page: the numbers of scikit-learn, texts by kind and label, and one sentence otherwise.

Covers `ui/views/checkpoint.py`.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from streamlit.testing.v1 import AppTest

from tests.cli.checkpoints.test_compared_answers import GOLD, ROUNDED, TEXTS, plain
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import save_tiny
from tests.pages.labels import NAMES, TAGS, named
from tests.pages.opened import metrics, opened, visible_text, with_probes
from tests.pages.snippets import Printed, chart, check_view, close
from ui.widgets import run_model as answers

LINES = "\n".join(f"{label}\t{text}" for label, text in zip(GOLD, TEXTS, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classifiers with the same labels in another order, a tagger, and a model without a head."""
    place = tmp_path_factory.mktemp("classifiers")
    save_tiny_head("bert", "sequence-classification", place / "first", **named(*NAMES))
    save_tiny_head("roberta", "sequence-classification", place / "second", **named(*NAMES[::-1]))
    save_tiny_head("bert", "sequence-classification", place / "moods", **named("joy", "fear", "anger"))
    save_tiny_head("bert", "token-classification", place / "tags", **named(*TAGS))
    save_tiny("bert", place / "bare")
    return place


@pytest.fixture(autouse=True)
def models(folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    return folder


@pytest.fixture(scope="module")
def right_answers(folder: Path) -> tuple[list[str], list[str]]:
    """The answers of transformers' own classes."""
    return plain(folder / "first"), plain(folder / "second")


ADDRESS = {"view": "Compare with base", "compared": "answers to many texts", "answers_from": "my own list"}


def page(lines: str = LINES, **query: str) -> AppTest:
    texts = {"answered_texts": lines} if lines else {}
    at = opened("checkpoint", **{**ADDRESS, "model": "first", "other": "second", **texts, **query})
    assert not at.exception
    return at


def listed(at: AppTest) -> pd.DataFrame:
    """The table of texts."""
    return at.dataframe[-1].value


@pytest.mark.slow
def test_scores_and_cells_are_those_of_scikit_learn(right_answers: tuple[list[str], list[str]]) -> None:
    at = page()
    one, other = right_answers
    accuracies = [accuracy_score(GOLD, each) for each in right_answers]
    shown = metrics(at)
    assert shown["Accuracy"] == f"{accuracies[0]:.1%} → {accuracies[1]:.1%}"
    assert shown["Macro-F1"] == " → ".join(f"{f1_score(GOLD, each, average='macro'):.1%}" for each in right_answers)
    assert shown["Same answer"] == f"{accuracy_score(one, other):.1%}"
    mended = sum(a != g == b for g, a, b in zip(GOLD, one, other, strict=True))
    assert shown["Mended"] == str(mended)
    cells = chart(at, "checkpoint_answers")[0]["z"]
    close(cells, confusion_matrix(one, other, labels=NAMES))
    close(chart(at, "checkpoint_scores")[0]["x"], [100 * accuracies[0], 100 * f1_score(GOLD, one, average="macro")])
    assert any("points (95% interval" in visible_text(each.value) for each in at.markdown)
    assert any("64 texts of your own list." in visible_text(each.value) for each in at.caption)


def test_texts_are_listed_by_kind_and_label_and_one_is_open(right_answers: tuple[list[str], list[str]]) -> None:
    at = page(answers_listed="broken")
    one, other = right_answers
    broken = {t for t, g, a, b in zip(TEXTS, GOLD, one, other, strict=True) if a == g != b}
    assert set(listed(at)["text"]) == broken
    assert set(listed(at)["kind"]) == {"broken"}
    first = listed(at).iloc[0]
    words = [visible_text(each.value) for each in at.markdown]
    assert first["text"] in words
    assert any(each.startswith(f"gold label **{first['gold label']}**") and each.endswith(": broken") for each in words)
    at.selectbox(key="answers_label").select(NAMES[1]).run()
    rows = listed(at)
    assert ((rows[["gold label", "first", "second"]] == NAMES[1]).any(axis=1)).all()
    assert 0 < len(rows) < len(broken) or set(rows["text"]) == broken


@pytest.mark.slow
def test_texts_are_divided_by_a_word_and_listed_by_slice(right_answers: tuple[list[str], list[str]]) -> None:
    at = page(answers_by="a word", answers_word="river", answers_listed="all")
    within = [place for place, text in enumerate(TEXTS) if "river" in text]
    shares = [accuracy_score([GOLD[at] for at in within], [each[at] for at in within]) for each in right_answers]
    close(chart(at, "checkpoint_slices")[0]["x"][0], 100 * (shares[1] - shares[0]))
    at.selectbox(key="answers_slice").select("with 'river'").run()
    assert set(listed(at)["text"]) == {TEXTS[at] for at in within}
    at.selectbox(key="answers_by").select("all together").run()
    assert not at.exception
    assert len(listed(at)) == len(TEXTS)


def test_the_code_gives_the_answers_of_the_page(right_answers: tuple[list[str], list[str]]) -> None:
    def check(at: AppTest, values: Printed) -> None:
        close(values[0], chart(at, "checkpoint_answers")[0]["z"])

    address = {**ADDRESS, "other": "second", "answered_texts": LINES}
    check_view("checkpoint", "first", {"checkpoint_answered": check}, **address)


def test_texts_without_labels_are_compared_by_the_answers_alone(right_answers: tuple[list[str], list[str]]) -> None:
    at = page("\n".join(TEXTS))
    one, other = right_answers
    changed = [text for text, a, b in zip(TEXTS, one, other, strict=True) if a != b]
    assert metrics(at) == {"Same answer": f"{accuracy_score(one, other):.1%}", "Changed": str(len(changed))}
    assert listed(at)["text"].tolist() == changed
    assert len(sent_charts(at)) == 1


def test_heads_without_a_common_label_have_no_share_of_same_answers() -> None:
    at = page("\n".join(TEXTS), other="moods")
    assert metrics(at) == {}
    assert "answers_by" not in {each.key for each in at.selectbox}
    assert len(listed(at)) == len(TEXTS)
    assert any(f"{len(NAMES)} labels only of first" in visible_text(each.value) for each in at.caption)


def test_a_probe_answers_for_a_base_without_a_head(right_answers: tuple[list[str], list[str]]) -> None:
    at = page(other="bare")
    words = [visible_text(each.value) for each in at.markdown]
    assert f"**first**: Its task head is right on {accuracy_score(GOLD, right_answers[0]):.1%} of 64 texts." in words
    accuracy = next(each["y"] for each in chart(at, "predictions_probe") if each["name"] == "accuracy")
    assert any(
        each.startswith(f"**bare**: a probe on its vectors is right on up to {np.max(accuracy):.1f}%") for each in words
    )
    words = [visible_text(each.value) for each in with_probes(at).markdown]  # that of the first is trained last
    assert sum("a probe on its vectors is right on up to" in each for each in words) == 2


def test_the_example_set_has_labels_that_these_heads_lack() -> None:
    at = page("", answers_from="example set")
    assert any("No gold label" in visible_text(each.value) for each in at.caption)
    assert any("220 texts of the example set topics" in visible_text(each.value) for each in at.caption)


@pytest.mark.slow
def test_a_rounded_copy_and_the_same_model_twice() -> None:
    at = page(other="first")
    assert metrics(at)["McNemar's p"] == "1.000"
    assert any("every change is exactly 0" in each.value for each in at.info)
    assert any("No text is of this kind" in each.value for each in at.caption)
    assert "Mended" in metrics(page(other=ROUNDED))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"model": "bare"}, "'bare' holds a base model (BertModel) and no task head"),
        ({"other": "tags"}, "that of 'tags' (token-classification) gives none, so its answers are not compared."),
    ],
)
def test_heads_that_give_no_class_are_one_sentence(query: dict[str, str], words: str) -> None:
    at = page(**query)
    assert any(words in visible_text(each.value) for each in (*at.info, *at.error))


def test_before_texts_are_given_the_page_says_what_is_needed() -> None:
    assert "Write texts, one a line" in page("").info[0].value
    assert "This view reads a file" in page("", answers_from="file").info[0].value
