"""Fields of the model and its modules: their values, and the effect of a click in a tree."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.settings import DEFAULT_MODEL
from ui import session


def run(page: Any, **state: Any) -> AppTest:
    at = AppTest.from_function(page, default_timeout=60)
    for name, value in state.items():
        at.session_state[name] = value
    return at.run()


def texts(at: AppTest) -> list[str]:
    assert not at.exception
    return [text.value for text in at.text]


def test_offered_models_are_each_offered_once_the_bundled_one_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "bert-base-uncased", "no-model"):
        (tmp_path / name).mkdir()
    for name in ("mine", "bert-base-uncased"):
        (tmp_path / name / "config.json").write_text("{}")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    monkeypatch.delenv("INSIDE_BERT_ALLOWED_MODELS", raising=False)
    names = session.model_names()
    assert names[0] == DEFAULT_MODEL
    assert len(set(names)) == len(names)
    assert "mine" in names
    assert "no-model" not in names
    assert {"bert-base-uncased", "albert-base-v2", "ModernBERT-base", *session.TEACHING_SIZES} <= set(names)


def test_an_instance_with_a_list_offers_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_MODELS", " bert-base-cased, bert-tiny ,")
    assert session.model_names() == ("bert-base-cased", "bert-tiny")


def model_page() -> None:
    import streamlit as st

    from ui.widgets.models import model_name, model_select

    model_select()
    st.text(model_name())


def test_the_model_of_a_listed_instance_is_one_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_MODELS", "bert-base-cased,bert-tiny")
    at = AppTest.from_function(model_page, default_timeout=60)
    at.query_params["model"] = "roberta-base"
    assert texts(at.run()) == ["bert-base-cased"]


def list_page() -> None:
    import streamlit as st

    from ui.session import model_names
    from ui.widgets.models import complete

    complete("list", model_names())
    st.text(st.session_state["list"])


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("bert-base-unc", "bert-base-uncased"),
        ("BERT-Base-Uncased", "BERT-Base-Uncased"),  # the catalogue knows it
        ("Splade", "splade-tiny"),
        ("negations/checkpoint-4", "negations/checkpoint-40"),
        ("negations", "negations/checkpoint-80"),  # a run, of which no step is named
        ("google-bert/bert-base-uncased", "google-bert/bert-base-uncased"),
        ("nothing-begins-so", "nothing-begins-so"),
        ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
    ],
)
def test_the_beginning_of_a_known_name_opens_that_model_and_says_so(
    typed: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    at = run(list_page, list=typed)
    assert texts(at) == [name]
    assert [name.replace("-", "") in each.value.replace("-", "").replace("\\", "") for each in at.toast] == [True] * (
        typed != name
    )


def test_where_the_hub_may_be_asked_an_id_of_the_hub_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "1")
    for typed, name in (("negations/checkpoint-4",) * 2, ("bert-base-unc", "bert-base-uncased")):
        assert texts(run(list_page, list=typed)) == [name]
