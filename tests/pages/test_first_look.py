"""The first look of every view in a fresh session: numbers of a named model, never an empty box.

Covers `ui/widgets/heading.py`, `ui/widgets/models.py`, `ui/views/predictions.py`,
`ui/views/corpus.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import PAGES
from bertviz_core.models.catalog import BUNDLED, OFFERED, SPLADE
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.charts import sent_charts
from tests.pages.labels import CONTEXT
from tests.pages.opened import opened, page_text, views, views_of, visible_text
from tests.sentences.test_static_models import plain
from ui.session import DEFAULT_TEXT, SECOND_TEXT
from ui.widgets import run_model as answers
from ui.widgets.heading import PAIRS

CLASSIFIER = OFFERED[0]
DRAWINGS = {"journey_view", "module_tree", "attention_view", "corpus_map"}
"""Components that draw numbers themselves."""
LOOKS = [(model, page, view) for page in PAGES for view in views_of(page) for model in (*BUNDLED, *OFFERED)]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


def is_offered(at: AppTest, view: str) -> bool:
    return not view or not any(f"There is no view {view}" in visible_text(each.value) for each in at.toast)


@pytest.mark.sample(10)
@pytest.mark.parametrize(("model", "page", "view"), LOOKS, ids=lambda each: each or "-")
def test_the_first_look_of_every_view_has_numbers(
    model: str, page: str, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.pages.opened.with_probes", lambda at: at)  # nothing is confirmed
    at = opened(page, model=model, **({"view": view} if view else {}))
    assert not at.exception
    assert not at.error
    assert model != DEFAULT_MODEL or not at.warning
    drawn = [each for each in at.get("bidi_component") if each.proto.component_name in DRAWINGS]
    assert sent_charts(at) or at.dataframe or drawn
    assert (at.session_state["text"], at.session_state["pair"]) == (DEFAULT_TEXT, "")
    assert not {"text", "pair"} & set(at.query_params)


def test_a_view_that_a_model_cannot_have_is_no_tab_and_is_named_with_the_click_to_one_that_has() -> None:
    at = opened("words", model=SPLADE, view="Classes")
    assert views(at) == ["Words", "Remove word by word", "Pairs"]
    assert not is_offered(at, "Classes")
    assert "splade-tiny has no task head for classes or tags" in page_text(at)
    (button,) = [each for each in at.button if each.label == f"Open {CLASSIFIER}"]
    assert "Classes" in views(button.click().run())


def test_the_classifier_answers_in_place_of_a_model_without_a_head_under_its_own_name() -> None:
    at = opened("predictions")
    own = opened("predictions", model=CLASSIFIER)
    words = f"{CLASSIFIER}, which knows remarks on places only, answers instead: bad, good."
    assert words in page_text(at).replace("**", "")
    (stood_in,), (answered,) = ([each.spec for each in sent_charts(page)] for page in (at, own))
    assert stood_in == answered
    named, theirs = (
        [each.proto.json for each in page.get("bidi_component") if each.proto.component_name == "figure_download"]
        for page in (at, own)
    )
    assert named == theirs  # its files have its name, too
    assert at.session_state["model"] == DEFAULT_MODEL
    titles = ["Classes", "Change a word", "Calibration", "Train a probe", "Several texts", "Label errors", "Word swaps"]
    assert views(at) == titles
    several = opened("predictions", view="Several texts")
    assert words in page_text(several).replace("**", "")
    np.testing.assert_array_equal(
        several.dataframe[0].value.to_numpy(),
        opened("predictions", view="Several texts", model=CLASSIFIER).dataframe[0].value.to_numpy(),
    )
    (button,) = [each for each in at.button if each.label == f"Open {CLASSIFIER}"]
    assert button.click().run().session_state["model"] == CLASSIFIER
    assert f"{CLASSIFIER} answers" not in page_text(at)


@pytest.mark.parametrize(
    ("model", "page", "view", "use"),
    [
        ("answers", "predictions", "Answers", "question-answering"),
        ("answers", "predictions", "Change a word", "question-answering"),
        ("pretraining", "predictions", "Next sentence", "next-sentence"),
        ("answers", "words", "Words", "question-answering"),
        (DEFAULT_MODEL, "words", "Pairs", "cosine"),
    ],
)
@pytest.mark.usefixtures("heads")
@pytest.mark.sample(2)
def test_an_example_is_named_until_the_reader_writes_a_second_text(model: str, page: str, view: str, use: str) -> None:
    _, first, second = PAIRS[use]
    at = opened(page, model=model, view=view)
    (line,) = [each for each in at.markdown if "**Example:**" in each.value]
    assert f"“{second}”" in visible_text(line.value)
    assert (f"“{first}”" in visible_text(line.value)) == (first != DEFAULT_TEXT)
    assert sent_charts(at)
    at.text_area(key="pair").set_value(CONTEXT).run()
    assert not at.exception
    assert not at.error
    assert "**Example:**" not in " ".join(each.value for each in at.markdown)
    own = opened(page, model=model, view=view, text=first, pair=second)
    assert [each.spec for each in sent_charts(own)] == [
        each.spec for each in sent_charts(opened(page, model=model, view=view))
    ]


def test_an_example_differs_from_the_text() -> None:
    at = opened("words", view="Pairs", text=SECOND_TEXT)
    (line,) = [visible_text(each.value) for each in at.markdown if "**Example:**" in each.value]
    assert f"second text “{DEFAULT_TEXT}”" in line


def test_views_of_layers_say_that_a_static_model_has_none(models_dir: Path) -> None:
    plain(models_dir / "plain")
    at = opened("representations", model="plain", view="Change")
    assert not at.exception
    assert views(at) == ["Values", "Token similarity", "Input", "One word, two texts"]
    assert "without layers" in page_text(at)
