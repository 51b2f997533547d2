"""The second model is chosen once, below the first: it stays on page changes, in links and after Back."""

from pathlib import Path

import pytest

from bertviz_core.checkpoints.rounding.formats import COPIES
from bertviz_core.models.catalog.bundled import FINE_TUNED, SPLADE
from bertviz_core.models.catalog.example_run import OFFERED
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "view", "default"),
    [("checkpoint", "Compare with base", COPY), ("sentences", "Two models", FINE_TUNED)],
)
def test_the_default_of_a_view_that_compares_is_no_choice_of_the_reader(page: str, view: str, default: str) -> None:
    at = opened(page, view=view)
    assert at.sidebar.selectbox(key="other").value == default
    assert len([each for each in at.selectbox if each.key == "other"]) == 1
    at.switch_page("../pages/tokens.py").run()
    assert at.sidebar.selectbox(key="other").value == ""
    assert "other" not in at.query_params
    at.switch_page(f"../pages/{page}.py")  # Back: the address has the default that the view wrote
    at.query_params["view"], at.query_params["other"] = view, default
    assert at.run().sidebar.selectbox(key="other").value == default
    at.switch_page("../pages/words.py").run()
    assert at.sidebar.selectbox(key="other").value == ""


@pytest.mark.slow
def test_a_default_that_the_reader_chooses_stays() -> None:
    at = opened("sentences", view="Two models")
    at.sidebar.selectbox(key="other").set_value(COPY).run()
    at.sidebar.selectbox(key="other").set_value(FINE_TUNED).run()
    at.switch_page("../pages/tokens.py").run()
    assert at.sidebar.selectbox(key="other").value == FINE_TUNED


def test_a_first_model_that_cannot_be_read_leaves_the_sidebar_whole(models_dir: Path) -> None:
    (models_dir / "broken").mkdir()
    (models_dir / "broken" / "config.json").write_text("{")
    (models_dir / "broken" / "model.safetensors").write_bytes(b"")
    for first in ("no-such-model", DEFAULT_MODEL):
        at = opened("checkpoint", view="Compare with base", compared="behaviour with the text", model=first)
        assert not at.exception
        assert not at.sidebar.error
        assert at.sidebar.selectbox(key="other").value == COPY
        assert at.sidebar.text_area(key="text").value


@pytest.mark.slow
def test_each_view_has_its_own_default_until_the_reader_chooses(models_dir: Path) -> None:
    at = opened("checkpoint", view="Compare with base")
    at.switch_page("../pages/sentences.py")
    at.query_params["view"] = "Two models"
    assert at.run().sidebar.selectbox(key="other").value == FINE_TUNED
    at.sidebar.selectbox(key="other").set_value(COPY).run()
    at.switch_page("../pages/tokens.py").run()
    at.switch_page("../pages/sentences.py")
    at.query_params["view"] = "Two models"
    assert at.run().sidebar.selectbox(key="other").value == COPY


@pytest.mark.slow
def test_a_second_model_that_becomes_the_first_is_replaced_but_a_link_may_name_it_twice(
    models_dir: Path,
) -> None:
    at = opened("sentences", view="Two models", other=FINE_TUNED)
    at.sidebar.selectbox(key="model").set_value(FINE_TUNED).run()
    assert at.sidebar.selectbox(key="other").value == DEFAULT_MODEL
    twice = opened("sentences", view="Two models", other=DEFAULT_MODEL)
    assert twice.run().sidebar.selectbox(key="other").value == DEFAULT_MODEL
    assert any("same model" in each.value for each in twice.info)
