"""Training a head, and several texts: the page's numbers equal the library's; invalid input gives one message.

Covers `ui/views/predictions.py`.
"""

import json
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.predictions.probing.scores import (
    fitted_probe,
    layer_vectors,
    probe_bytes,
    probe_predictions,
    probe_scores,
)
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import save_tiny
from tests.pages.conftest import Gate
from tests.pages.opened import SHELL, opened, views, visible_text, with_probes
from tests.pages.snippets import chart, check_view, close
from ui.session import TRAINED_PROBE
from ui.widgets import run_model as answers

TEXTS = ("my pet python", "the river bank", "love the bank", "my python", "the river", "pet love", "a bank", "pets")
LABELS = ("a", "b") * 4
TYPED = "\n".join(f"{label}\t{text}" for label, text in zip(LABELS, TEXTS, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("models")
    save_tiny("bert", models / "tiny")
    for task in ("sequence-classification", "question-answering", "token-classification", "masked-lm"):
        save_tiny_head("bert", task, models / task)
    return models


@pytest.fixture(autouse=True)
def _models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    monkeypatch.setattr(answers, "PATIENCE_S", 60.0)
    import streamlit as st

    st.cache_resource.clear()


def trained(**query: str) -> AppTest:
    """Open the view Train a probe with the tiny model and typed texts."""
    address = {"model": "tiny", "labelled": "typed", "labelled_texts": TYPED, "view": "Train a probe", **query}
    return opened("predictions", **address)


def errors(at: AppTest) -> list[str]:
    assert not at.exception
    return [visible_text(each.value) for each in at.error]


@pytest.mark.parametrize("view", ["Train a probe", "Several texts"])
@pytest.mark.sample(1)
def test_no_probe_is_trained_before_the_reader_asks_for_it(view: str) -> None:
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page("../pages/predictions.py")
    at.query_params.update({"model": "tiny", "view": view, "labelled": "typed", "labelled_texts": TYPED})
    at.run()
    assert not errors(at)
    assert not sent_charts(at)
    assert TRAINED_PROBE not in at.session_state
    (asked,) = [visible_text(each.value) for each in at.info if "probes are trained" in each.value]
    layers, folds = 4, 4  # the tiny model's hidden states, and the texts of each class
    assert f"on {len(TEXTS)} labelled texts, and {2 * layers * folds} linear probes are trained" in asked
    at.button(key="start_work").click().run()
    assert sent_charts(at) or at.dataframe
    assert TRAINED_PROBE in at.session_state


def test_layers_that_are_done_are_drawn_while_the_rest_is_fitted(gate: Gate) -> None:
    partly, end = gate.pages(1, trained)
    assert "Layers that are not done yet are missing." in [each.value for each in partly.caption]
    assert any(each.value.startswith("**So far:**") for each in partly.markdown)
    assert not any("**So far:**" in each.value for each in end.markdown)
    (first, *others), (whole, *_) = chart(partly, "predictions_probe_so_far"), chart(end, "predictions_probe")
    assert len(first["y"]) == 1
    assert len(whole["y"]) > 1
    np.testing.assert_array_equal(first["y"], whole["y"][:1])
    assert others


@pytest.mark.slow
def test_the_first_view_of_a_model_without_a_head_is_the_librarys_probe(folder: Path) -> None:
    at = trained(text="my bank")
    assert not errors(at)
    assert "Train a probe" in views(at)
    settings = Settings.from_environment()
    source = folder_source("tiny", folder / "tiny")
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    labelled = LabelledTexts("The list", TEXTS, LABELS)
    vectors = layer_vectors(loaded, tokenizer, TEXTS, "mean")
    scores = probe_scores(loaded, labelled, "mean", vectors)
    drawn = {trace["name"]: trace for trace in chart(at, "predictions_probe")}
    close(drawn["accuracy"]["y"], 100 * scores.accuracy.mean(axis=1))
    close(drawn["control task"]["y"], 100 * scores.control_accuracy.mean(axis=1))
    probe = fitted_probe(labelled, scores, vectors, scores.layers[-1])
    prediction = probe_predictions(probe, loaded, tokenizer, ["my bank"])[0]
    assert prediction.probabilities is not None
    bars = chart(at, "predictions_classes")[0]
    close(sorted(bars["x"]), np.sort(prediction.probabilities), 1e-3)


@pytest.mark.slow
def test_code_pooling_layer_and_seed_come_from_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scores(at: AppTest, values: list[object]) -> None:
        drawn = {trace["name"]: trace for trace in chart(at, "predictions_probe")}
        close(100 * np.array(values[0]), drawn["accuracy"]["y"])
        close(100 * np.array(values[3]), drawn["control task"]["y"])

    def answer(at: AppTest, values: list[object]) -> None:
        close(np.sort(np.array(values[1])), sorted(chart(at, "predictions_classes")[0]["x"]), 1e-3)

    checks = {"predictions_probe": scores, "predictions_classes": answer}
    address = {"text": "my bank", "pooling": "max", "layer": "1", "seed": "5"}
    monkeypatch.chdir(tmp_path)
    Path("probe.zip").write_bytes(probe_bytes(trained(**address).session_state[TRAINED_PROBE]))
    typed = {"labelled": "typed", "labelled_texts": TYPED}
    at = check_view("predictions", "tiny", checks, view="Train a probe", **typed, **address)
    assert at.number_input(key="seed").value == 5
    assert at.selectbox(key="pooling").value == "max"
    assert any("max pooling of layer 1, seed 5" in visible_text(each.value) for each in at.caption)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("a\tone\na\ttwo", "has one class, 'a'"),
        ("a\tone\nb two", "Line 2 of 'The list' is no label and text"),
        ("a\tone\na\ttwo\nb\tthree", "The class 'b' has a single text"),
        ("\n".join(f"{n}\ttext {n}" for n in range(150)), "has 150 classes; at most 100"),
        (" ", "The list of labelled texts is empty"),
    ],
)
def test_texts_that_no_probe_can_be_fitted_on_get_one_sentence_and_stay(typed: str, words: str) -> None:
    at = trained(labelled_texts=typed)
    (error,) = errors(at)
    assert words in error
    assert at.text_area(key="labelled_texts").value == typed


@pytest.mark.slow
def test_a_saved_probe_answers_again_and_another_file_is_refused(folder: Path) -> None:
    settings = Settings.from_environment()
    source = folder_source("tiny", folder / "tiny")
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    labelled = LabelledTexts("own.csv", TEXTS, LABELS)
    vectors = layer_vectors(loaded, tokenizer, TEXTS, "cls")
    scores = probe_scores(loaded, labelled, "cls", vectors, 9)
    data = probe_bytes(fitted_probe(labelled, scores, vectors, 2))
    at = trained()
    at.file_uploader(key="probe_upload").upload("mine.zip", data, "application/zip").run()
    assert not errors(at)
    assert any("texts of 'own.csv': cls pooling of layer 1, seed 9" in visible_text(each.value) for each in at.caption)
    assert not [each for each in sent_charts(at) if each.key == "predictions_probe"]
    at.file_uploader(key="probe_upload").upload("mine.zip", b"no zip", "application/zip").run()
    assert "is no probe that was saved here" in errors(at)[0]


def several(model: str, lines: str, **query: str) -> AppTest:
    return opened("predictions", model=model, view="Several texts", many_texts=lines, **query)


def onward(at: AppTest) -> list[dict[str, str]]:
    """Parameters of the links below the list."""
    (found,) = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith("-predictions_several_open")]
    return [dict(parse_qsl(link["address"].partition("?")[2])) for link in json.loads(found.json)["links"]]


def listed_answers(at: AppTest) -> list[str]:
    frames = [each.value for each in at.dataframe]
    (table,) = [
        frame for frame in frames if "answer" in frame and "text" in frame and "right" in frame or len(frames) == 1
    ]
    return [str(each) for each in table["answer"]]


@pytest.mark.parametrize("model", ["sequence-classification", "token-classification", "masked-lm"])
def test_every_head_answers_a_list(model: str) -> None:
    at = several(model, "the [MASK] bank\nmy pet python")
    assert not errors(at)
    assert len(listed_answers(at)) == 2
    assert {each.label for each in at.get("download_button")} >= {"CSV", "Parquet"}


def test_questions_are_answered_in_the_second_text_and_need_one() -> None:
    assert "needs a context for every question" in errors(several("question-answering", "who ?\nwhat ?"))[0]
    at = several("question-answering", "who ?\nwhat ?", pair="my pet python")
    assert len(listed_answers(at)) == 2
    assert all(answer in "my pet python" for answer in listed_answers(at))


def answers_of(at: AppTest) -> str:
    """The sentence about the probe that answers; "" for none."""
    words = [visible_text(each.value) for each in at.markdown]
    return next((each for each in words if "Answers of the probe" in each), "")


@pytest.mark.slow
def test_answers_of_a_probe_say_so_and_the_way_back_leads_to_the_head() -> None:
    known = {"labelled": "typed", "labelled_texts": TYPED}
    at = several("sequence-classification", "my bank", answered_by="probe", **known)
    assert not errors(at)
    assert "trained on 8 texts that you typed" in answers_of(at)
    at.button(key="many_back").click().run()
    assert not errors(at)
    assert not answers_of(at)
    assert listed_answers(at)[0].startswith("LABEL_")
    assert "Back to the example set" in [each.label for each in several("tiny", "my bank", **known).button]


def test_a_probe_that_answers_a_list_is_a_target_of_other_pages(folder: Path) -> None:
    at = several("tiny", "my bank", labelled="typed", labelled_texts=TYPED)
    assert not errors(at)
    probe = at.session_state[TRAINED_PROBE]
    assert probe.model == "tiny"
    assert listed_answers(at)[0] in probe.classes
    assert {link["target"] for link in onward(at)} == {"probe"}


@pytest.mark.slow
def test_gold_labels_give_accuracy_and_a_confusion_matrix_and_a_probe_is_told_its_own_texts() -> None:
    at = several("sequence-classification", "LABEL_0\tmy pet\nLABEL_1\tmy pet\nodd\tthe bank")
    assert not errors(at)
    cells = np.array(chart(at, "predictions_confusion")[0]["z"])
    assert cells.sum() == 3
    assert cells[2].sum() == 1  # of "odd", which is not a class
    assert any("is no class of this task head ('odd')" in visible_text(each.value) for each in at.info)
    # The list starts with the mistakes, which have links with their text and the predicted class.
    (wrong,) = [each.value for each in at.dataframe if "right" in each.value]
    assert set(wrong["right"]) == {"no"}
    assert len(wrong) == cells.sum() - np.trace(cells)
    assert any(f"{len(wrong)} of 3 texts" in visible_text(each.value) for each in at.markdown)
    for link in onward(at)[1:]:
        assert link["text"] == wrong["text"].iloc[0]
        assert link["target_class"] in (wrong["answer"].iloc[0], wrong["gold label"].iloc[0])
    shown = at.selectbox(key="many_shown")
    shown.set_value(next(each for each in ("2.0", "2.1") if cells[int(each[0]), int(each[2])])).run()
    assert {each["text"] for each in onward(at)} == {"the bank"}
    known = {"labelled": "typed", "labelled_texts": TYPED}
    at = several("tiny", TYPED, **known)
    assert not errors(at)
    assert any("8 texts of the list are among those" in visible_text(each.value) for each in at.caption)
    assert np.array(chart(at, "predictions_confusion")[0]["z"]).sum() == 8


@pytest.mark.slow
def test_two_columns_of_a_file_are_fitted_and_compared() -> None:
    rows = "\n".join(f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True))
    data = f"words,kind\n{rows}\nlast,\n".encode()
    at = opened("predictions", model="tiny", labelled="file", view="Train a probe")
    assert not errors(at)
    with_probes(at.file_uploader(key="labelled_upload").upload("own.csv", data, "text/csv").run())
    assert not errors(at)
    page_text = [visible_text(each.value) for each in at.caption]
    assert any("8 texts of 'own.csv'" in each for each in page_text)
    assert any("1 row without a label left out." in each for each in page_text)
    at.file_uploader(key="labelled_upload").upload("own.csv", b"words,kind\none,a\ntwo,a\n", "text/csv").run()
    assert "has one class, 'a'" in errors(at)[0]
    at = opened("predictions", model="sequence-classification", view="Several texts", texts_from="file")
    gold = b"words,label\nmy pet,LABEL_0\nthe bank,LABEL_1\nlast,\n"
    at.file_uploader(key="many_upload").upload("gold.csv", gold, "text/csv").run()
    assert not errors(at)
    assert np.array(chart(at, "predictions_confusion")[0]["z"]).sum() == 2
    assert any("1 text without a gold label" in visible_text(each.value) for each in at.info)
