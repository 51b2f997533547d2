"""The second model is chosen once, below the first: it stays on page changes, in links and after Back."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.checkpoints.rounding import COPIES, LABELS
from bertviz_core.models.catalog import FINE_TUNED, OFFERED, SPLADE
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, visible_text
from ui.cache import models
from ui.widgets import run_model

pytestmark = pytest.mark.usefixtures("models_dir")

COPY = next(iter(COPIES))


def test_only_models_that_can_run_are_offered_and_none_is_the_default(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "mine")
    (models_dir / "bare").mkdir()
    (models_dir / "bare" / "config.json").write_text("{}")
    at = opened("tokens")
    box = at.sidebar.selectbox(key="other")
    assert box.options == ["none", SPLADE, FINE_TUNED, "mine", *OFFERED, *(LABELS.get(each, each) for each in COPIES)]
    assert "itself, rounded to 8-bit float, e4m3 (float8_e4m3fn)" in box.options
    assert box.value == ""
    assert "other" not in at.query_params


def test_the_choice_is_in_the_address_and_stays_on_other_pages(models_dir: Path) -> None:
    at = opened("overview", other=FINE_TUNED)
    for page in ("tokens", "checkpoint", "sentences", "overview"):
        at.switch_page(f"../pages/{page}.py").run()
        assert not at.exception
        assert at.sidebar.selectbox(key="other").value == FINE_TUNED
        assert at.query_params["other"] == FINE_TUNED
    at.sidebar.selectbox(key="other").set_value("").run()
    assert "other" not in at.query_params


def test_a_page_that_shows_one_model_loads_no_second(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    load = models.loaded

    def noted(name: str) -> object:
        loaded.append(name)
        return load(name)

    monkeypatch.setattr(models, "loaded", noted)
    at = opened("heads", other=FINE_TUNED)
    assert not at.exception
    assert set(loaded) <= {DEFAULT_MODEL}


@pytest.mark.parametrize(("page", "view"), [("checkpoint", "Compare with base"), ("sentences", "Two models")])
def test_a_view_that_compares_shows_an_example_and_sets_none(
    page: str, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_model, "PATIENCE_S", 120.0)
    at = opened(page, view=view)
    assert not at.exception
    assert at.sidebar.selectbox(key="other").value == ""
    assert "other" not in at.query_params
    assert f"compared with {FINE_TUNED}, which is bundled" in compared_with(at)
    assert FINE_TUNED in str(sent_charts(at)[0].spec)
    at.sidebar.selectbox(key="other").set_value(COPY).run()
    assert at.query_params["other"] == COPY
    assert not compared_with(at)
    assert sent_charts(at)
    at.switch_page("../pages/tokens.py").run()
    assert at.sidebar.selectbox(key="other").value == COPY


def compared_with(at: AppTest) -> str:
    """The line that marks the second model as an example; "" where there is none."""
    lines = [visible_text(each.value).replace("*", "") for each in at.markdown]
    return next((line for line in lines if "Example: compared with" in line), "")


def test_the_likest_model_is_the_example(models_dir: Path) -> None:
    for name in ("mine", "other"):
        save_tiny("bert", models_dir / name)
    at = opened("checkpoint", view="Compare with base", model="mine")
    assert "compared with other, of the same type and sizes" in compared_with(at)


def test_a_first_model_that_cannot_be_read_leaves_the_sidebar_whole(models_dir: Path) -> None:
    (models_dir / "broken").mkdir()
    (models_dir / "broken" / "config.json").write_text("{")
    (models_dir / "broken" / "model.safetensors").write_bytes(b"")
    for first in ("no-such-model", DEFAULT_MODEL):
        at = opened("checkpoint", view="Compare with base", compared="behaviour with the text", model=first)
        assert not at.exception
        assert not at.sidebar.error
        assert at.sidebar.selectbox(key="other").value == ""
        assert at.sidebar.text_area(key="text").value


@pytest.mark.slow
def test_a_model_compared_with_itself_is_said() -> None:
    twice = opened("sentences", view="Two models", other=DEFAULT_MODEL)
    assert twice.run().sidebar.selectbox(key="other").value == DEFAULT_MODEL
    assert any("same model" in each.value for each in twice.info)
