"""The architecture page: its tree, drawings and costs for models with and without weights, of several families.

Covers `bertviz_core/questions/views/architecture.py`, `ui/views/architecture.py`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from streamlit.testing.v1 import AppTest

from bertviz_core.errors import TextError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.models import architecture
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import drawn, opened, visible_text, with_files

VIEWS = ("Module tree", "One layer", "Cost", "Encoder or decoder")


def tree_rows(at: AppTest) -> list[dict[str, Any]]:
    """The rows sent to the component."""
    (component,) = [each for each in at.get("bidi_component") if each.proto.component_name == "module_tree"]
    found: list[dict[str, Any]] = json.loads(component.proto.json)["rows"]
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("view", VIEWS[1:])
def test_every_view_of_a_catalogue_model_opens_without_weights(view: str) -> None:
    at = opened("architecture", view=view, model="bert-tiny")
    assert not at.exception
    assert not at.error
    assert all(chart.spec for chart in sent_charts(at))


def test_the_tree_is_that_of_the_loaded_model_with_the_shapes_of_the_text() -> None:
    at = opened("architecture", text="I love my pet python.", pair="A python is a snake.")
    assert not at.exception
    assert not at.error
    rows = {row["id"]: row for row in tree_rows(at)}
    model = transformers.AutoModel.from_pretrained(bundled_folder())
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder())
    seq = len(tokenizer("I love my pet python.", "A python is a snake.")["input_ids"])
    shapes = {}
    model.encoder.layer[0].intermediate.register_forward_hook(lambda m, i, o: shapes.update(out=tuple(o.shape)))
    with torch.no_grad():
        model(**tokenizer("I love my pet python.", "A python is a snake.", return_tensors="pt"))
    assert rows["encoder.layer.0-5.intermediate"]["shapes"] == f"(1, {seq}, 384) → (1, {seq}, 1536)"
    assert shapes["out"] == (1, seq, 1536)
    for row in rows.values():
        if row["id"] and not row["times"] and "0-5" not in row["id"] and row["count"]:
            own = sum(each.numel() for each in model.get_submodule(row["id"]).parameters())
            assert row["count"] == f"{own:,}"
    assert rows["encoder.layer.0-5"]["count"] == "6 × 1,774,464"


@pytest.mark.slow
def test_without_a_tokenizer_a_stated_length_is_said() -> None:
    at = opened("architecture", model="bert-base-uncased")
    assert not at.exception
    assert any(
        "128 tokens, because the tokenizer is not on this machine" in visible_text(each.value) for each in at.caption
    )
    assert {row["id"]: row for row in tree_rows(at)}[""]["count"] == "109,482,240"


def test_layers_one_by_one_have_rows_of_their_own() -> None:
    rows = tree_rows(opened("architecture", one_by_one="true"))
    assert sum(row["head"].startswith("BertLayer(") for row in rows) == 6
    assert all(not row["times"] for row in rows)


def test_a_link_opens_the_module_it_names() -> None:
    at = opened("architecture", looked_at="pooler.dense")
    assert any("**Linear** with **147,840 parameters**" in visible_text(each.value) for each in at.markdown)


def test_the_chosen_task_is_the_class_shown() -> None:
    at = opened("architecture", model="bert-tiny", task="masked-lm")
    rows = tree_rows(at)
    assert rows[0]["head"] == "BertForMaskedLM("
    assert any(row["id"] == "cls.predictions.decoder" for row in rows)


def test_a_classifier_is_shown_as_its_checkpoint_says(models_dir: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    from tests.helpers.tiny_models import tiny_config, tiny_tokenizer

    model = AutoModelForSequenceClassification.from_config(tiny_config("bert", num_labels=4))
    model.save_pretrained(models_dir / "classifier")
    tiny_tokenizer().save_pretrained(models_dir / "classifier")
    rows = tree_rows(opened("architecture", model="classifier"))
    assert rows[0]["head"] == "BertForSequenceClassification("
    assert rows[0]["count"] == f"{model.num_parameters():,}"


@pytest.mark.parametrize(
    ("model_type", "view"),
    [
        *(("t5", view) for view in VIEWS),
        *((name, "One layer") for name in ("fnet", "mobilebert", "xlm", "deberta-v2")),
        *((name, "Cost") for name in ("longformer", "deberta-v2", "xlm")),
    ],
)
@pytest.mark.slow
def test_no_family_breaks_a_view(model_type: str, view: str, models_dir: Path) -> None:
    save_tiny(model_type, models_dir / model_type)
    at = opened("architecture", model=model_type, view=view, text="I love my pet python.")
    assert not at.exception
    assert not at.error


@pytest.mark.slow
def test_the_curve_is_the_formula_and_memory_has_a_map() -> None:
    at = opened("architecture", view="Cost")
    assert not at.exception
    curve, heat = (chart.figure for chart in sent_charts(at))
    names = [trace["name"] for trace in curve["data"]]
    assert names[-1] == "counted by PyTorch"
    assert any("equal at 1,536 tokens" in note["text"] for note in curve["layout"]["annotations"])
    assert heat["data"][0]["type"] == "heatmap"
    assert any("PyTorch counts the same at" in visible_text(each.value) for each in at.markdown)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("model_type", "changes", "title"),
    [
        ("bart", {}, "bart is an encoder-decoder model"),
        ("gpt2", {}, "gpt2 is a decoder-only model"),
        ("bert", {"is_decoder": True}, "bert is a decoder-only model"),
        ("bert", {}, "bert is an encoder-only model"),
    ],
)
def test_a_model_is_drawn_as_what_it_is(model_type: str, changes: dict[str, Any], title: str, models_dir: Path) -> None:
    save_tiny(model_type, models_dir / model_type, **changes)
    at = opened("architecture", model=model_type, view="Encoder or decoder")
    assert not at.exception
    figure = drawn(at)
    assert figure["layout"]["title"]["text"] == title
    texts = [note.get("text") for note in figure["layout"]["annotations"]]
    assert "<b>3 ×</b>" in texts
    assert ("<b>1 ×</b>" in texts) is (model_type == "bart")
    assert any(title.split()[-2] in visible_text(each.value) for each in at.markdown)


@pytest.mark.slow
def test_figures_can_be_had_in_every_theme() -> None:
    views = {"One layer": ("layer",), "Cost": ("cost", "memory"), "Encoder or decoder": ("encoder",)}
    for view, keys in views.items():
        at = opened("architecture", view=view)
        for key in keys:
            with_files(at, f"architecture_{key}")
        choices = [each for each in at.button_group if str(each.key).endswith("_theme")]
        assert [each.options for each in choices] == [["as on the page", "light", "dark", "print"]] * len(keys)


@pytest.mark.sample(1)
@pytest.mark.parametrize("text", ["", "<b>x</b> ![a](http://evil.example)", "word " * 400])
def test_no_text_breaks_the_page(text: str) -> None:
    at = opened("architecture", text=text)
    assert not at.exception
    assert not at.error


def test_a_class_that_cannot_run_without_values_has_its_tree_without_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise TextError("It looks at values.")

    monkeypatch.setattr(architecture, "shapes", refused)
    at = opened("architecture", text="Without shapes.")
    assert not at.exception
    assert [visible_text(each.value) for each in at.warning] == [
        "It looks at values. The tree is shown without shapes."
    ]
