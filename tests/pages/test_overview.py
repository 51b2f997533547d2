"""The overview page: the model's sizes, its stack and its parts.

Covers `ui/shell.py`.
"""

import html
import re
from pathlib import Path
from typing import Any

import pytest

from bertviz_core.figures.base.style import DARK, LIGHT
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import drawn, metrics, opened, visible_text, write_model

SIZES = {
    "all-MiniLM-L6-v2": {
        "Parameters": "22,713,216",
        "Layers": "6",
        "Heads": "12",
        "Hidden size": "384",
        "Vocabulary": "30,522",
        "Size": "86.6 MiB",
    },
    "bert-base-uncased": {
        "Parameters": "109,482,240",
        "Layers": "12",
        "Heads": "12",
        "Hidden size": "768",
        "Vocabulary": "30,522",
        "Size": "417.6 MiB",
    },
}


def texts(spec: dict[str, Any]) -> list[str]:
    """The texts of a drawn stack."""
    found = [note.get("text", "") for note in spec["layout"]["annotations"]]
    return [html.unescape(re.sub("<[^>]*>", " ", text)) for text in found]


def test_the_first_page_shows_the_bundled_model() -> None:
    at = opened("overview")
    assert not at.exception
    assert not at.error
    assert metrics(at) == SIZES["all-MiniLM-L6-v2"]
    assert not at.text_area  # the page reads no text
    assert at.sidebar.selectbox(key="model").value == "all-MiniLM-L6-v2"


def test_the_address_names_the_model() -> None:
    at = opened("overview", model="bert-base-uncased")
    assert not at.exception
    assert metrics(at) == SIZES["bert-base-uncased"]


def test_a_choice_in_the_sidebar_changes_the_model() -> None:
    at = opened("overview")
    at.sidebar.selectbox(key="model").set_value("bert-base-uncased").run()
    assert metrics(at) == SIZES["bert-base-uncased"]


@pytest.mark.parametrize(
    ("name", "hidden", "middle", "layers", "heads"),
    [("all-MiniLM-L6-v2", 384, 1_536, 6, 12), ("bert-base-uncased", 768, 3_072, 12, 12)],
)
def test_the_stack_shows_the_real_sizes(name: str, hidden: int, middle: int, layers: int, heads: int) -> None:
    at = opened("overview", model=name)
    words = texts(drawn(at))
    counts = [int(text.replace(",", "")) for text in words if re.fullmatch(r"[\d,]+", text)]
    tables = (30_522 + 512 + 2) * hidden
    attention, feed_forward = 4 * (hidden + 1) * hidden, 2 * hidden * middle + middle + hidden
    norm, pooler = 2 * hidden, (hidden + 1) * hidden
    assert counts == [tables, norm, attention, norm, feed_forward, norm, pooler]
    parts = {"embeddings": tables + norm, "feed-forward blocks": layers * feed_forward, "attention": layers * attention}
    most, total = max(parts, key=lambda part: parts[part]), int(SIZES[name]["Parameters"].replace(",", ""))
    said = f"Of the parameters {parts[most] / total:.1%} are in the {most}, more than in any other part."
    assert said in [each.value for each in at.caption]
    whole = " | ".join(words)
    assert f"{layers} × {attention + feed_forward + 2 * norm:,}" in whole
    for word in (f"30,522 × {hidden}", f"512 × {hidden}", f"{heads} heads × {hidden // heads}", f"{layers} layers"):
        assert word in whole
    assert f"{hidden} → {middle:,} → {hidden}" in whole


def test_the_stack_follows_the_readers_theme() -> None:
    for name, look in (("light", LIGHT), ("dark", DARK)):
        at = opened("overview")
        at.context["theme"] = name
        assert drawn(at.run())["layout"]["paper_bgcolor"] == look.paper


@pytest.mark.parametrize(
    ("model", "answers"),
    [
        ("all-MiniLM-L6-v2", {"Pooler": "yes", "Token types": "2", "Positions": "absolute", "Shared layers": "no"}),
        ("distilbert-base-uncased", {"Pooler": "no", "Token types": "no", "Positions": "absolute"}),
        ("albert-base-v2", {"Shared layers": "12 applications of 1 layer", "Pooler": "yes"}),
        ("ModernBERT-base", {"Positions": "rotary", "Local attention": "in 14 of 22 layers", "Feed-forward": "gated"}),
        ("deberta-v3-base", {"Positions": "relative", "Token types": "no"}),
        ("xlm-roberta-base", {"Token types": "1"}),
    ],
)
@pytest.mark.slow
def test_the_page_says_what_the_family_has_and_lacks(model: str, answers: dict[str, str]) -> None:
    at = opened("overview", model=model, overview_has="true")
    assert not at.exception
    lines = [visible_text(line.value) for line in at.markdown]
    for name, answer in answers.items():
        assert any(line.startswith(f"**{name}:** {answer}  \n") for line in lines), name


def test_bert_is_told_in_five_lines_below_what_it_is_for() -> None:
    at = opened("overview")
    lines = [line for each in at.markdown for line in each.value.splitlines()]
    for word in ("bidirectional", "auto-encoding", "encoder half", "[CLS]", "one sequence or two"):
        assert any(line.startswith("- ") and word in line for line in lines)
    purpose = next(place for place, line in enumerate(lines) if "searched for, classified, tagged" in line)
    assert purpose < next(place for place, line in enumerate(lines) if line.startswith("- "))


@pytest.mark.parametrize(("name", "causal"), [("gpt2", True), ("roberta", False), ("t5", False)])
def test_a_decoder_is_not_said_to_see_later_tokens(name: str, causal: bool, models_dir: Path) -> None:
    save_tiny(name, models_dir / "tiny")
    lines = [visible_text(each.value) for each in opened("overview", model="tiny").markdown]
    assert any(line.startswith("This model is a decoder: it reads a text") for line in lines) == causal
    assert any(line.startswith("BERT reads a whole text") for line in lines) != causal


def test_a_page_about_the_model_alone_has_no_field_for_a_text() -> None:
    assert not opened("overview", text="From a link.").text_area


def test_names_of_a_strangers_folder_are_text(models_dir: Path) -> None:
    name, tensor = "_x_ *y* $z$ <b>q<b>&", "embeddings.<i>me</i>_embeddings.weight"
    write_model(models_dir / name, {tensor: (11, 6), "pooler.dense.weight": (6, 6)})
    at = opened("overview", model=name)
    assert not at.exception
    assert not at.error
    assert metrics(at)["Parameters"] == str(11 * 6 + 6 * 6)
    question = next(line.value for line in at.markdown if "at a glance" in line.value)
    assert name in visible_text(question)
    assert name not in question
    spec = drawn(at)
    assert spec["layout"]["title"]["text"].replace("<br>", " ").endswith(f"— {html.escape(name)}")
    assert any("&lt;i&gt;me&lt;" in note.get("text", "") for note in spec["layout"]["annotations"])
    assert not any("<i>" in note.get("text", "") for note in spec["layout"]["annotations"])
