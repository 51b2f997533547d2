"""The second model is chosen once, below the first: it stays on page changes, in links and after Back."""

from pathlib import Path

import pytest

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.models.catalog import FINE_TUNED, OFFERED, SPLADE
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, visible_text
from ui.cache import models

pytestmark = pytest.mark.usefixtures("models_dir")

COPY = next(iter(COPIES))


def test_only_models_that_can_run_are_offered_and_none_is_the_default(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "mine")
    (models_dir / "bare").mkdir()
    (models_dir / "bare" / "config.json").write_text("{}")
    at = opened("tokens")
    box = at.sidebar.selectbox(key="other")
    assert box.options == ["none", SPLADE, FINE_TUNED, "mine", *OFFERED, *COPIES]
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
def test_a_view_that_compares_asks_for_a_model_and_sets_none(page: str, view: str) -> None:
    at = opened(page, view=view)
    assert not at.exception
    assert at.sidebar.selectbox(key="other").value == ""
    assert "other" not in at.query_params
    assert "needs a second model" in at.info[0].value
    offers = [each for each in at.button if str(each.key).startswith("put_other_")]
    assert [FINE_TUNED in visible_text(each.label) for each in offers] == [True, False]
    offers[-1].click().run()
    assert at.sidebar.selectbox(key="other").value == at.query_params["other"] == COPY
    assert not [each for each in at.info if "needs a second model" in each.value]
    assert sent_charts(at)
    at.switch_page("../pages/tokens.py").run()
    assert at.sidebar.selectbox(key="other").value == COPY


def test_the_likest_model_is_offered_first(models_dir: Path) -> None:
    for name in ("mine", "other"):
        save_tiny("bert", models_dir / name)
    at = opened("checkpoint", view="Compare with base", model="mine")
    assert at.button(key="put_other_0").label == "other, of the same type and sizes"


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
