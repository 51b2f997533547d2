"""The list of models shows what can run here, the address has only the name, and every page offers a way on."""

from pathlib import Path

import pytest

from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, visible_text

pytestmark = pytest.mark.usefixtures("models_dir")
OFF = "needs the Hub (switched off)"


def test_what_can_be_run_stands_first_and_each_line_says_what_it_is(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "mine")
    (models_dir / "bare").mkdir()
    (models_dir / "bare" / "config.json").write_text("{}")
    lines = opened("overview").sidebar.selectbox(key="model").options
    assert lines[:4] == [
        "all-MiniLM-L6-v2 · ready · 22.7 M",
        "splade-tiny · related words, weak at gaps · ready · 4.4 M",
        "sre-embedding-model · ready · 22.7 M",
        "mine · ready",
    ]
    assert lines[4:10] == [
        *(f"negations/checkpoint-{step} · classes · ready · 22.7 M" for step in (80, 60, 40, 20)),
        "bare · structure",
        f"distilbert-base-uncased-finetuned-sst-2-english · {OFF} · classes · 66.4 M",
    ]
    assert f"bert-base-NER · {OFF} · tags · 108.3 M" in lines
    assert f"roberta-base-squad2 · {OFF} · answers · 124.6 M" in lines
    assert f"bert-base-cased · {OFF} · masked words · 108.3 M" in lines
    assert f"deberta-v3-small · {OFF} · 141.3 M" in lines
    assert all(f" · {OFF}" in line for line in lines[9:])
    at = opened("overview", model="mine")
    assert at.query_params["model"] == "mine"
    assert not at.sidebar.caption
    name = "team/" + "a-name-longer-than-the-box-" * 3
    assert visible_text(opened("overview", model=name).sidebar.caption[0].value) == name


def test_where_the_hub_may_be_asked_the_list_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "1")
    lines = opened("overview").sidebar.selectbox(key="model").options
    assert "roberta-base · Hub · masked words · 124.6 M" in lines


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("heads", {}),
        ("attention", {}),
        ("representations", {}),
        ("sentences", {}),
        ("tokens", {}),
        ("predictions", {}),
        ("causes", {}),
        ("words", {}),
        ("checkpoint", {"view": "Weights"}),
    ],
)
@pytest.mark.sample(3)
def test_a_model_that_is_not_here_leads_on(page: str, query: dict[str, str]) -> None:
    at = opened(page, model="bert-base-uncased", **query)
    assert not at.exception
    assert not at.error
    (message,) = [visible_text(each.value) for each in at.info]
    assert "not on this machine" in message
    assert "hf download" not in message
    at.button(key="go_on").click().run()
    assert not at.exception
    assert not any("not on this machine" in visible_text(each.value) for each in at.info)
    assert at.session_state["model"] == "all-MiniLM-L6-v2"
    assert "model" not in at.query_params


def test_the_way_back_from_a_model_that_is_not_here_is_the_one_that_was_open() -> None:
    at = opened("tokens", model="splade-tiny")
    at.sidebar.selectbox(key="model").select("bert-base-uncased").run()
    assert visible_text(at.button(key="go_on").label) == "Back to splade-tiny"
    at.sidebar.selectbox(key="model").select("bert-base-cased").run()
    assert visible_text(at.button(key="go_on").label) == "Back to splade-tiny"
    at.button(key="go_on").click().run()
    assert at.session_state["model"] == "splade-tiny"
    assert not at.info
    at.query_params["model"] = "no/such-model"
    at.run()
    assert at.error
    assert visible_text(at.button(key="go_on").label) == "Back to splade-tiny"
