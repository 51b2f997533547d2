"""The predictions page: every number equals transformers' own run; missing and incomplete heads give a message.

Covers `bertviz_core/questions/views/predictions.py`, `ui/views/predictions.py`.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForMaskedLM, AutoTokenizer

from bertviz_core.models.catalog import BUNDLED, SPLADE
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.run import PREDICTED
from bertviz_core.questions.views.predictions import VIEWS, offered
from bertviz_core.questions.views.texts.predictions import PAIR_NOT_READ
from bertviz_core.text import decimals
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import metrics, opened, page_text, views, visible_text
from tests.pages.snippets import folded
from ui.session import settings

TEXT = "I love my pet python."
PYTHON = 5
"""Position of the word that is masked by default."""


@cache
def own(text: str, masked: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Ids and log-probabilities (tokens, vocab) of splade-tiny by transformers' own run."""
    folder = resolve(SPLADE, settings()).folder
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    inputs = tokenizer(text, return_tensors="pt")
    ids = inputs["input_ids"][0].clone()
    inputs["input_ids"][0, list(masked)] = tokenizer.mask_token_id
    with torch.no_grad():
        return ids.numpy(), model(**inputs).logits[0].log_softmax(dim=-1).numpy()


def shown(**address: str) -> AppTest:
    """Open the page with the bundled model that has a head."""
    at = opened("predictions", model=SPLADE, **address)
    assert not at.exception
    return at


def charts(at: AppTest) -> dict[str, Any]:
    """Key of each chart -> the chart as sent to the browser."""
    return {each.key: each.figure for each in sent_charts(at)}


def boxes(at: AppTest, key: str) -> tuple[list[str], list[str]]:
    """Words in the boxes of a text, and the texts below them."""
    texts = [trace["text"] for trace in charts(at)[key]["data"] if trace.get("mode") == "text"]
    return texts[0], texts[1]


def test_the_first_view_masks_the_longest_word_and_lists_the_best() -> None:
    at = shown()
    ids, log_p = own(TEXT, (PYTHON,))
    bars = charts(at)["predictions_words"]["data"][0]
    best = np.sort(log_p[PYTHON])[::-1][:10]
    np.testing.assert_allclose(bars["x"][:10], np.exp(best), rtol=1e-4)
    rank = int((log_p[PYTHON] > log_p[PYTHON, ids[PYTHON]]).sum()) + 1
    assert f"rank **{rank:,}** of 30,522" in page_text(at)
    assert f"log-probability **{decimals(float(log_p[PYTHON, ids[PYTHON]]), 3)}** nats" in page_text(at)
    _, notes = boxes(at, "predictions_text")
    assert notes == [decimals(float(np.exp(log_p[place, token])), 3) for place, token in enumerate(ids)]
    assert BUNDLED[SPLADE].introduction in page_text(at)
    assert "mask" not in at.query_params


@pytest.mark.slow
def test_masks_and_position_are_in_the_address_and_in_the_controls() -> None:
    at = shown(mask="2,4", position="3")
    ids, log_p = own(TEXT, (2, 4))
    assert at.multiselect(key="mask").value == [2, 4]
    assert at.selectbox(key="position_token").value == 3
    assert f"**my**, seen by the model: probability **{np.exp(log_p[3, ids[3]]):.4f}**" in page_text(at)
    at.multiselect(key="mask").set_value([]).run()
    assert at.query_params["mask"] in ("none", ["none"])
    assert "hidden behind" not in page_text(at)
    at.multiselect(key="mask").set_value([PYTHON]).run()
    assert "mask" not in at.query_params


def test_a_typed_mask_has_no_original_and_is_the_first_position() -> None:
    at = shown(text="The capital of France is [MASK].")
    assert "so there is no original word" in page_text(at)
    assert at.multiselect(key="mask").value == []
    assert at.selectbox(key="position_token").value == 6
    _, notes = boxes(at, "predictions_text")
    assert notes[6] == "?"
    _, log_p = own("The capital of France is [MASK].")
    np.testing.assert_allclose(
        charts(at)["predictions_words"]["data"][0]["x"], np.exp(np.sort(log_p[6])[::-1][:10]), rtol=1e-4
    )


def test_a_word_of_ones_own_is_compared() -> None:
    at = shown(compare="snake")
    _, log_p = own(TEXT, (PYTHON,))
    folder = resolve(SPLADE, settings()).folder
    (snake,) = AutoTokenizer.from_pretrained(folder)("snake", add_special_tokens=False)["input_ids"]
    bars = charts(at)["predictions_words"]
    assert bars["layout"]["yaxis"]["ticktext"][-1] == "<b>snake</b> (your word)"
    assert bars["data"][0]["x"][-1] == pytest.approx(float(np.exp(log_p[PYTHON, snake])), rel=1e-4)
    assert "compare" not in at.query_params
    at.text_input(key="compare").set_value("a b").run()
    assert not at.exception


@pytest.mark.parametrize("address", ["99", "x", "1,,2", ",".join("1" * 40), "²"])
def test_masks_that_are_none_are_told_and_nothing_is_lost(address: str) -> None:
    at = shown(mask=address)
    assert at.multiselect(key="mask").value == [PYTHON]
    assert any("There is no mask=" in visible_text(each.value) for each in at.toast)


def test_more_than_32_typed_masks_are_refused_in_a_sentence() -> None:
    at = shown(text="[MASK] " * 33)
    (error,) = at.error
    assert "The text has 33 masks; at most 32 are read at once" in visible_text(error.value)


def test_surprise_is_that_of_masking_one_by_one() -> None:
    at = shown(view="Surprise", predictions_surprise_table="true")
    ids, _ = own(TEXT)
    surprise = [-own(TEXT, (place,))[1][place, ids[place]] for place in range(1, len(ids) - 1)]
    rows = folded(at, "predictions_surprise")
    np.testing.assert_allclose(rows["surprise, nats"][1:-1], surprise, rtol=1e-4)
    assert rows["surprise, nats"].isna().tolist() == [True, *[False] * 6, True]
    assert metrics(at)["PPPL"] == f"{np.exp(np.mean(surprise)):,.1f}"
    words, notes = boxes(at, "predictions_surprise")
    assert words[PYTHON] == "python"
    assert notes == ["", *(f"{each:.2f}" for each in surprise), ""]


def test_the_last_row_of_the_lens_is_the_models_own_answer() -> None:
    at = shown(view="Lens", predictions_lens_table="true")
    ids, log_p = own(TEXT, (PYTHON,))
    cells = np.array(charts(at)["predictions_lens"]["data"][0]["z"])
    assert cells.shape == (3, 8)
    np.testing.assert_allclose(cells[-1], np.exp(log_p.max(-1)), rtol=1e-4)
    last = folded(at, "predictions_lens").tail(len(ids))
    np.testing.assert_allclose(last["log-probability of the original"], log_p[range(8), ids], rtol=1e-4)
    assert (last["KL to the last layer"] == 0).all()
    assert "The task head was trained on the last layer alone" in page_text(at)


@pytest.mark.parametrize(
    ("measure", "low", "high"),
    [("rank of the original", 0, 5), ("entropy", 0, np.log(30_522)), ("KL to the last layer", 0, 100)],
)
def test_the_lens_is_coloured_by_other_measures(measure: str, low: float, high: float) -> None:
    at = shown(view="Lens", lens=measure, text="I love [MASK] pets.")
    trace = charts(at)["predictions_lens"]["data"][0]
    cells = np.array([[np.nan if cell is None else cell for cell in row] for row in trace["z"]], dtype=float)
    assert np.isnan(cells[:, 3]).all() == (measure == "rank of the original")
    assert low <= np.nanmin(cells) <= np.nanmax(cells) <= high


def test_a_cell_of_the_lens_lists_its_words() -> None:
    at = shown(view="Lens", layer="embeddings", position="2")
    assert "**embeddings**, position 2 **love**: the original token has rank **" in page_text(at)
    assert len(at.dataframe[0].value) == 10


def test_terms_are_weights_of_the_logits() -> None:
    folder = resolve(SPLADE, settings()).folder
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()

    def weights(text: str) -> Any:
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt")).logits[0].relu().log1p().amax(dim=0).numpy()

    at = shown(view="Expanded terms", predictions_terms_table="true")
    rows, expected = folded(at, "predictions_terms"), weights(TEXT)
    np.testing.assert_allclose(rows["weight"], np.sort(expected[expected > 0])[::-1], rtol=1e-4)
    assert not any("no SPLADE one" in each.value for each in at.caption)
    at = shown(
        view="Expanded terms", text="the capital of france", pair="where is paris", predictions_score_table="true"
    )
    score = float(weights("the capital of france") @ weights("where is paris"))
    assert metrics(at)["Score"] == f"{score:.3f}"
    assert folded(at, "predictions_score")["share"].sum() == pytest.approx(1)
    at.button_group(key="terms").set_value("the second text").run()
    assert not at.exception
    assert charts(at)["predictions_terms"]["layout"]["title"]["text"].startswith("Heaviest 12 of 16")


def test_a_head_that_is_no_splade_one_is_told(models_dir: Path) -> None:
    save_tiny_head("bert", "masked-lm", models_dir / "tiny")
    at = opened("predictions", model="tiny", text="I love my pet python", view="Expanded terms")
    assert not at.exception
    assert "no SPLADE one" in page_text(at)


def test_a_model_without_a_head_is_told_and_offered_one_with() -> None:
    at = opened("predictions")
    assert not at.exception
    (line,) = [each for each in at.markdown if "answers instead" in visible_text(each.value)]
    assert "'all-MiniLM-L6-v2' holds a base model (BertModel) and no task head, so it predicts nothing." in (
        visible_text(line.proto.help)
    )
    offer = at.button(key=f"predictions_no_head_{SPLADE}")
    assert offer.label == f"Open {SPLADE}"
    assert "weak at gaps" in offer.help
    offer.click().run()
    assert views(at)[:2] == ["Masked words", "Surprise"]


@pytest.mark.slow
def test_half_a_head_is_told_and_leads_to_the_load_report(models_dir: Path) -> None:
    folder = save_tiny_head("bert", "masked-lm", models_dir / "half")
    tensors = {name: each for name, each in load_file(folder / "model.safetensors").items() if "transform" not in name}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    at = opened("predictions", model="half")
    assert not at.exception
    assert "The task head for masked-lm is not whole in 'half'" in page_text(at)
    (link,) = [each.proto.json for each in at.get("bidi_component") if each.proto.id.endswith("-predictions_report")]
    assert "load_task=masked-lm" in link


def test_every_task_has_its_views_and_only_those() -> None:
    titles = [view.title for view in offered(("masked-lm",))]
    assert titles[:4] == ["Masked words", "Surprise", "Lens", "Expanded terms"]
    assert [view.title for view in offered(())] == [
        "Calibration",
        "Train a probe",
        "Several texts",
        "Label errors",
        "Word swaps",
    ]
    assert all(set(tasks) <= set(PREDICTED) for tasks in VIEWS.values())


@pytest.mark.parametrize("family", ["distilbert", "roberta", "modernbert", "bart", "t5"])
@pytest.mark.parametrize("view", ["", "Surprise", "Lens", "Expanded terms"])
@pytest.mark.sample(1)
def test_other_families_answer_or_say_why_not(family: str, view: str, models_dir: Path) -> None:
    if family == "t5":
        from tests.helpers.tiny_models import save_tiny

        save_tiny("t5", models_dir / family)
    else:
        save_tiny_head(family, "masked-lm", models_dir / family)
    at = opened("predictions", model=family, text="I love my pet python", view=view)
    assert not at.exception
    if family == "t5":
        assert "answers instead" in page_text(at) or "cannot show what" in page_text(at)
    elif at.error:
        assert (family, view) == ("bart", "Lens")
    else:
        assert charts(at)


def test_a_second_text_of_the_page_is_no_column_of_a_list_for_classes() -> None:
    query = {"view": "Several texts", "model": "negations/checkpoint-80", "many_texts": "bad\tThe bus was late."}
    alone, beside = (page_text(opened("predictions", **query, **more)) for more in ({}, {"pair": "A river."}))
    assert "accuracy **100.0%**" in alone
    assert beside.replace(f"{PAIR_NOT_READ} ", "") == alone
    assert PAIR_NOT_READ in beside


def test_labels_of_which_none_is_a_class_give_answers_without_an_accuracy() -> None:
    query = {"view": "Several texts", "model": "negations/checkpoint-80", "many_texts": "poor\tThe bus was late."}
    at = opened("predictions", **query)
    assert "No gold label ('poor') is a class of the task head ('bad', 'good')" in visible_text(at.warning[-1].value)
    assert "accuracy" not in page_text(at)
    rows = [row for each in at.dataframe if "gold label" in each.value for row in each.value.to_dict("records")]
    assert [(row["text"], row["gold label"], "right" in row) for row in rows] == [("The bus was late.", "poor", False)]


def test_a_head_that_gives_a_number_is_not_said_in_words_of_classes(models_dir: Path) -> None:
    save_tiny_head("bert", "sequence-classification", models_dir / "number", num_labels=1)
    at = opened("predictions", model="number", view="Calibration")
    assert any("nothing to calibrate" in visible_text(each.value) for each in at.info)
    assert "a task head for a number" in page_text(at)
    at = opened("words", model="number", view="Classes")
    assert "raises it most of all words" in page_text(at)
    assert "class" not in page_text(at)


def test_a_reader_names_the_classes_of_a_head_that_has_no_names(models_dir: Path) -> None:
    """As Trainer saves it without id2label: the file says positive, the head LABEL_1."""
    save_tiny_head("bert", "sequence-classification", models_dir / "nameless", num_labels=2)
    gold = ["positive", "negative", "positive", "positive"] * 3
    at = opened("predictions", model="nameless", view="Several texts")
    lines = [f"{label}\tmy pet python {place}" for place, label in enumerate(gold)]
    at.text_area(key="many_texts").set_value("\n".join(lines)).run()
    assert any("say under **Name the classes** which is which" in each.value for each in at.warning)
    at.selectbox(key="LABEL_1_is").set_value("positive").run()
    assert not at.warning
    at.selectbox(key="many_shown").set_value("all").run()
    (table,) = [each.value for each in at.dataframe if "right" in each.value]
    assert list(table["gold label"]) == gold
    right = (table["gold label"] == table["answer"]).to_numpy()
    assert list(table["right"]) == ["yes" if each else "no" for each in right]
    assert f"accuracy **{right.mean():.1%}**" in page_text(at)
    names = "The classes are named by you: LABEL_0 is 'negative', LABEL_1 is 'positive'."
    assert page_text(at).replace(names, "").count("LABEL_") == 0
    own = {"positive": "LABEL_1", "negative": "LABEL_0"}[table["answer"][0]]
    (links,) = [each.proto.json for each in at.get("bidi_component") if each.proto.id.endswith("_several_open")]
    assert f"target_class={own}" in links  # the other page knows the names of the file alone
    at.query_params.update(view="Label errors", labelled="typed", probabilities_from="head")
    at.run()
    assert not at.exception
    assert names in page_text(at)
    assert page_text(at).replace(names, "").count("LABEL_") == 0
    assert "The probabilities are those of the model's own task head" in page_text(at)
    at.query_params.update(view="Calibration")
    assert names in page_text(at.run())
