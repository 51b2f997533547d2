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


def click_page() -> None:
    import streamlit as st

    from ui.widgets.models.fields import clicked, module_select, take_click

    take_click("chart", "model")
    st.text(clicked("chart"))
    st.text(st.session_state["module"] or "all")
    st.text(module_select(["embeddings", "embeddings.word", "pooler.dense"]) or "all")


def event(*ids: str) -> dict[str, Any]:
    return {"selection": {"points": [{"id": each, "label": each, "parent": "x"} for each in ids]}}


@pytest.mark.parametrize(
    ("chart", "module", "expected"),
    [
        (None, "embeddings", ["None", "embeddings", "embeddings"]),
        ({"selection": {"points": []}}, "embeddings", ["None", "embeddings", "embeddings"]),
        (event("pooler.dense"), "embeddings", ["pooler.dense", "pooler.dense", "pooler.dense"]),
        (event("embeddings.word"), "", ["embeddings.word", "embeddings.word", "embeddings.word"]),
        (event("model"), "embeddings", ["model", "all", "all"]),
        (event("embeddings/folded"), "embeddings", ["embeddings/folded", "all", "all"]),
    ],
    ids=["no chart", "nothing clicked", "other module", "first module", "centre", "fold"],
)
def test_a_click_chooses_its_module_and_the_centre_the_whole(chart: Any, module: str, expected: list[str]) -> None:
    assert texts(run(click_page, chart=chart, module=module)) == expected


def test_a_module_that_is_not_drawn_is_not_chosen() -> None:
    at = run(click_page, chart=None, module="encoder.layer.17")
    assert texts(at) == ["None", "encoder.layer.17", "all"]
    assert at.session_state["module"] == ""


def search_page() -> None:
    import streamlit as st

    from ui.widgets.models.fields import search

    st.text(f"[{search('search', 'Search')}]")


def test_a_search_word_has_no_blanks_around_it() -> None:
    assert texts(run(search_page)) == ["[]"]
    assert texts(run(search_page, search="  query ")) == ["[query]"]


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

    from ui.widgets.models.fields import model_name
    from ui.widgets.models.select import model_select

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
    from ui.widgets.models.fields import complete

    complete("list", model_names())
    st.text(st.session_state["list"])


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("bert-base-unc", "bert-base-uncased"),
        ("BERT-Base-Uncased", "BERT-Base-Uncased"),  # the catalogue knows it
        ("Splade", "splade-tiny"),
        ("negations/checkpoint-4", "negations/checkpoint-40"),
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
