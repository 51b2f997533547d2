"""The tour above the pages: a step is a link, its texts are replaced and restored, an invalid lesson gives one message.

Covers `ui/lessons/tour.py`, `ui/components/links/__init__.py` and `ui/components/links/__init__.py`.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.figures.pages import FIRST as FIRST_PAGE
from bertviz_core.models.catalog import TEXTS_FILE
from bertviz_core.settings import DEFAULT_MODEL
from tests.pages.opened import opened, visible_text
from tests.pages.test_journey import header
from tests.ui.lessons.shipped import lesson
from ui.lessons.library import Step, View
from ui.lessons.tour import ORDER, RUN_LESSON, WRONG
from ui.widgets import run_model as answers

TEXT = "Sinan loves a beautiful day"


FIRST = ORDER[0]


def component(at: AppTest, key: str) -> dict[str, Any]:
    """Data sent to the component of this key."""
    assert not at.exception
    (proto,) = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith(f"-{key}")]
    given: dict[str, Any] = json.loads(proto.json)
    return given


def card(at: AppTest) -> dict[str, Any]:
    """Content of the card."""
    return component(at, "tour_card")


def addresses(links: list[dict[str, Any]]) -> dict[str, str]:
    """Label -> address of links."""
    return {link["label"]: link["address"] for link in links}


def at_step(number: int, page: str, **query: str) -> AppTest:
    return opened(page, lesson=FIRST, step=str(number), **query)


def test_a_step_shows_its_note_its_question_and_its_text() -> None:
    at = at_step(4, "tokens", token="1")
    shown = card(at)
    assert (shown["count"], shown["title"]) == ("step 4 of 10", "From a text to tokens")
    assert shown["question"].startswith("Write your own name")
    assert at.text_area(key="text").value == TEXT
    assert at.number_input(key="token").value == 1
    assert addresses(shown["ways"]) == {
        "Back": f"parameters?model=bert-base-uncased&view=Layers&lesson={FIRST}&step=3",
        "Next": f"representations?view=Input&lesson={FIRST}&step=5",
    }
    assert len(shown["steps"]) == 10
    assert [link["current"] for link in shown["steps"]].index(True) == 3


def test_the_ends_of_the_lesson_lead_nowhere_else() -> None:
    first, last = (card(at_step(1, "overview", model="bert-base-uncased")), card(at_step(10, "sentences")))
    assert addresses(first["ways"])["Back"] == ""
    assert "Next" not in addresses(last["ways"])
    assert (first["end"], last["end"]) == (False, True)


def test_the_name_alone_leads_to_the_first_step() -> None:
    at = opened("tokens", lesson=FIRST)
    assert card(at)["count"] == "step 1 of 10"
    assert at.title[0].value == "Overview"
    assert at.selectbox(key="model").value == "bert-base-uncased"


def test_a_step_whose_address_says_nothing_of_its_view_shows_it_all_the_same() -> None:
    at = at_step(1, "overview")
    assert at.session_state["model"] == "bert-base-uncased"
    assert "109,482,240" in visible_text(" ".join(str(each.value) for each in at.metric))


def test_a_step_opened_at_another_page_leads_to_its_own() -> None:
    at = at_step(8, "overview")
    assert at.title[0].value == "Attention"
    assert (at.select_slider(key="layer").value, at.number_input(key="head").value) == ("1", 8)


def test_a_link_with_a_text_of_its_own_keeps_it() -> None:
    at = at_step(4, "tokens", text="Mine.")
    assert at.text_area(key="text").value == "Mine."
    assert "text" not in at.query_params


def test_what_the_reader_had_comes_back_at_the_end() -> None:
    at = opened("tokens", text="Mine.", pair="And this.")
    at.query_params.update({"lesson": FIRST, "step": "4"})
    at.run()
    assert (at.text_area(key="text").value, at.text_area(key="pair").value) == (TEXT, "")
    at.button(key="tour_leave").click().run()
    assert (at.text_area(key="text").value, at.text_area(key="pair").value) == ("Mine.", "And this.")
    assert not {"lesson", "step"} & set(at.query_params)
    assert "tour_leave" not in [each.key for each in at.button]


@pytest.mark.parametrize("stays", [False, True])
def test_a_text_that_a_link_opened_within_a_lesson_goes_with_it_unless_its_view_stays(stays: bool) -> None:
    at = opened("tokens", text="Mine.")
    at.query_params.update({"lesson": FIRST, "step": "4"})
    at.run()
    at.query_params["text"] = "Of a link."
    if stays:
        at.switch_page("../pages/words.py")
    at.run()
    assert at.text_area(key="text").value == "Of a link."
    at.button(key="tour_leave").click().run()
    assert at.text_area(key="text").value == ("Of a link." if stays else "Mine.")


def test_what_the_reader_typed_during_the_tour_stays() -> None:
    at = at_step(4, "tokens")
    at.text_area(key="text").set_value("Typed now.").run()
    assert at.text_area(key="text").value == "Typed now."
    at.button(key="tour_leave").click().run()
    assert at.text_area(key="text").value == "Typed now."


def test_the_last_step_fills_the_list_of_sentences() -> None:
    at = opened("sentences", sentences="Mine.\nYours.")
    at.query_params.update({"lesson": FIRST, "step": "10", "example": "paraphrases"})
    at.run()
    assert at.text_area(key="sentences").value.startswith("How do I reset my password?")
    at.button(key="tour_leave").click().run().run()  # twice: the browser opens the view of before
    assert at.text_area(key="sentences").value == "Mine.\nYours."


def test_on_another_page_the_bar_names_the_page_of_the_step() -> None:
    at = at_step(4, "tokens", token="1")
    del at.query_params["lesson"], at.query_params["step"]  # as a click in the navigation does
    at.switch_page("../pages/overview.py").run()
    assert (card(at)["count"], card(at)["away"]) == ("step 4 of 10", "This step is on the page Tokens.")
    assert addresses(card(at)["ways"])["Show this step"] == f"tokens?token=1&lesson={FIRST}&step=4"
    at.switch_page("../pages/tokens.py").run()  # its page with the view of the reader
    assert card(at)["away"] == "You came here on another way, so the page may show another view than the step."
    assert addresses(card(at)["ways"])["Show this step"] == f"tokens?token=1&lesson={FIRST}&step=4"


@pytest.mark.parametrize(
    ("name", "step", "sentence"),
    [
        ("../../app", "1", "There is no lesson '../../app'"),
        ("<b>x</b>", "1", "There is no lesson '<b>x</b>'"),
        (FIRST, "11", "has 10 steps, and '11' is none of them."),
        (FIRST, "0", "has 10 steps, and '0' is none of them."),
        (FIRST, "²", "has 10 steps, and '²' is none of them."),
        (FIRST, "-1", "has 10 steps, and '-1' is none of them."),
        (FIRST, "1.5", "has 10 steps, and '1.5' is none of them."),
        (FIRST, "two", "has 10 steps, and 'two' is none of them."),
        (FIRST, "9" * 5_000, "has 10 steps, and '99999999999999999999…' is none of them."),
        ("9" * 5_000, "1", "There is no lesson '9999999999999999999999999999999999999999…'"),
        (
            "nonsense",
            "9" * 5_000,
            "There is no lesson 'nonsense'; the lessons here are: a-fine-tuning-that-collapsed, attention",
        ),
    ],
    ids=["path", "markup", "behind", "zero", "digit", "negative", "fraction", "word", "long", "long name", "both"],
)
@pytest.mark.sample(4)
def test_an_address_without_a_lesson_is_one_sentence_and_the_page_stays(name: str, step: str, sentence: str) -> None:
    at = opened("tokens", lesson=name, step=step)
    assert not at.exception
    assert sentence in visible_text(at.warning[0].value)
    assert at.title[0].value == "Tokens"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lessons"
    folder.mkdir()
    monkeypatch.setenv("INSIDE_BERT_LESSONS_DIR", str(folder))
    return folder


def test_an_own_lesson_is_listed_and_its_words_stay_plain(own: Path) -> None:
    hostile = "![x](http://evil.example/x.png) <b>bold</b> :red[red] $x$ [a](javascript:alert)"
    step = f"page: tokens\n  title: '{hostile}'\n  note: '{hostile}'\n  question: '{hostile}'"
    (own / "mine.yaml").write_text(f"title: '{hostile}'\nauthor: '{hostile}'\nsteps:\n- {step}\n")
    (own / "bad.yaml").write_text("title: Bad\nsteps:\n- page: nowhere\n  title: a\n  note: b\n")
    at = opened("tokens", lesson="mine", step="1")
    assert {card(at)[name] for name in ("lesson", "title", "note", "question", "author")} == {hostile}
    for text in (each.value for each in (*at.markdown, *at.caption) if "evil" in each.value):
        assert "http://" not in text
        assert "](" not in text
        assert " <b>" not in text
    at.session_state["lessons_open"] = True
    at.run()
    assert list(addresses(component(at, "lessons_list")["links"])) == [
        f"{hostile}, 1 step",
        "BERT from the outside in, 10 steps",
        "Your text through the model, 10 steps",
        "The journey of a sentence, 8 steps",
        "Tokens, 9 steps",
        "Twelve heads, one matrix, 7 steps",
        "Attention, and what it is not, 7 steps",
        "What makes two sentences alike, 7 steps",
        "Why are my vectors different?, 6 steps",
        "Which heads and words matter, 8 steps",
        "A fine-tuning that collapsed, 6 steps",
        "My classifier is wrong, 8 steps",
        "Since which step, 6 steps",
    ]
    faults = " ".join(visible_text(each.value) for each in at.caption)
    assert "The lesson bad.yaml, step 1, field page: 'nowhere' is no page" in faults


def test_a_lesson_that_was_changed_is_read_again(own: Path) -> None:
    import os

    path = own / "mine.yaml"
    path.write_text("title: First\nsteps:\n- {page: tokens, title: a, note: b}\n")
    at = opened("tokens", lesson="mine", step="1")
    path.write_text("title: Second\nsteps:\n- {page: tokens, title: a, note: b}\n")
    os.utime(path, ns=(1, 1))
    assert card(at.run())["lesson"] == "Second"


@pytest.mark.slow
def test_the_overview_offers_the_tour_until_it_is_taken() -> None:
    at = opened("overview")
    address = f"overview?model=bert-base-uncased&lesson={FIRST}&step=1"
    assert addresses(component(at, "tour_entry_link")["links"]) == {
        "Guide: BERT from the outside in, 10 steps": address
    }
    used = at_step(1, "overview", model="bert-base-uncased")
    assert not [each for each in used.get("bidi_component") if each.proto.id.endswith("-tour_entry_link")]


TRIED = """
title: Mine
summary: All of it.
next: bert-from-the-outside-in
steps:
- page: tokens
  title: One
  note: Look.
  question: What of another word?
  answer: It is one piece.
  text: Mine.
  try:
  - {label: Another word, text: Yours., query: {token: 1}}
  - {label: Its heads, page: heads}
- {page: tokens, title: Two, note: Look again.}
"""


def test_a_question_has_an_answer_and_links_that_do_it(own: Path) -> None:
    (own / "mine.yaml").write_text(TRIED)
    at = opened("tokens", lesson="mine", step="1")
    assert (card(at)["question"], card(at)["answer"]) == ("What of another word?", "It is one piece.")
    assert addresses(card(at)["trials"]) == {
        "Another word": "tokens?token=1&lesson=mine&step=1&try=1",
        "Its heads": "heads?lesson=mine&step=1&try=2",
    }
    at.query_params.update({"token": "1", "try": "1"})
    at.run()
    assert at.text_area(key="text").value == "Yours."
    assert addresses(card(at)["ways"])["Back to the step"] == "tokens?lesson=mine&step=1"
    assert [link["current"] for link in card(at)["trials"]] == [True, False]
    assert card(at)["away"] == ""
    del at.query_params["try"]
    at.run()
    assert at.text_area(key="text").value == "Mine."


def test_the_way_back_to_a_step_without_a_text_leads_to_the_readers_own(own: Path) -> None:
    (own / "mine.yaml").write_text(TRIED.replace("  text: Mine.\n", ""))
    at = opened("tokens")
    at.text_area(key="text").set_value("My own.").run()
    seen = []
    for names in (
        {"lesson": "mine", "step": "1"},
        {"token": "1", "try": "1"},
        {"try": ""},
        {"try": "1"},
        {"step": "2", "try": ""},
    ):
        at.query_params.update(names)
        if not names.get("try", "1"):
            del at.query_params["try"]
        at.run()
        seen.append(at.text_area(key="text").value)
    assert seen == ["My own.", "Yours.", "My own.", "Yours.", "Yours."]


def test_a_link_of_a_question_opens_its_view_in_a_fresh_browser(own: Path) -> None:
    (own / "mine.yaml").write_text(TRIED)
    at = opened("overview", **{"lesson": "mine", "step": "1", "try": "2"})
    assert (at.title[0].value, card(at)["count"]) == ("Heads", "step 1 of 2")
    assert at.text_area(key="text").value == "Mine."


def test_the_end_sums_up_and_leads_on(own: Path) -> None:
    (own / "mine.yaml").write_text(TRIED)
    first, last = (card(opened("tokens", lesson="mine", step=step)) for step in ("1", "2"))
    assert (first["end"], first["onward"]) == (False, None)
    assert (last["end"], last["summary"]) == (True, "All of it.")
    assert last["onward"]["label"].startswith("Next lesson: BERT from the outside in, ")
    assert last["onward"]["address"].endswith(f"lesson={FIRST}&step=1")


def test_a_next_lesson_that_is_not_there_is_left_out(own: Path) -> None:
    (own / "mine.yaml").write_text(TRIED.replace(FIRST, "gone"))
    assert card(opened("tokens", lesson="mine", step="2"))["onward"] is None


@pytest.mark.parametrize("trial", ["0", "3", "x", "9" * 5_000])
def test_a_link_that_a_step_does_not_have_is_one_sentence(trial: str, own: Path) -> None:
    (own / "mine.yaml").write_text(TRIED)
    at = opened("tokens", **{"lesson": "mine", "step": "1", "try": trial})
    assert not at.exception
    assert "Step 1 of the lesson 'mine' has 2 links, and " in visible_text(at.warning[0].value)
    assert len(visible_text(at.warning[0].value)) < 200


COMPARES = """
title: Mine
keeps: [model, other]
steps:
- page: architecture
  title: One
  note: Look.
  question: What of others?
  try: [{label: Others, query: {model: negations/checkpoint-40, other: negations/checkpoint-20}}]
"""
OWN_MODELS = {"model": "negations/checkpoint-80", "other": DEFAULT_MODEL}


def models_of(at: AppTest) -> dict[str, Any]:
    """The models in the fields of the sidebar."""
    return {name: at.selectbox(key=name).value for name in OWN_MODELS}


def leave(at: AppTest, sent_again: dict[str, str] | None = None) -> AppTest:
    """Leave, and open page and address that the browser then opens; it may send models once more."""
    at.button(key="tour_leave").click().run()
    assert "tour" not in at.session_state
    for given in (sent_again or {}, {}):
        sent = component(at, "pages")
        if not sent["again"]:
            break
        (here,) = [link["address"] for group in sent["groups"] for link in group["links"] if link["current"]]
        at.switch_page(f"../pages/{here or FIRST_PAGE}.py").query_params.clear()
        at.query_params.update(parse_qs(sent["again"].removeprefix("?")))
        for name, value in given.items():
            at.selectbox(key=name).set_value(value)
        at.run()
    return at


@pytest.mark.parametrize("before", [("parameters",), ("architecture", "parameters")])
@pytest.mark.parametrize("way", ["at the step", "after its example", "after a link out of it"])
def test_who_leaves_has_page_view_and_models_of_before(before: tuple[str, ...], way: str, own: Path) -> None:
    """Also where the browser sends the models of the lesson once more, with the address that it was told to open."""
    (own / "mine.yaml").write_text(COMPARES)
    views = {"architecture": "One layer", "parameters": "Layers"}
    at = opened(before[0], view=views[before[0]], **OWN_MODELS)
    for page in before[1:]:
        at.query_params.update(view=views[page])
        at.switch_page(f"../pages/{page}.py").run()
    at.query_params.update(lesson="mine", step="1")
    at.switch_page("../pages/architecture.py").run().run()  # twice: the browser opens the whole address
    example = {"model": "negations/checkpoint-40", "other": "negations/checkpoint-20"}
    if way != "at the step":
        at.query_params.update({**example, "try": "1"})
        at.run()
        (back,) = [link for link in card(at)["ways"] if link["label"] == "Back to the step"]
        assert parse_qs(back["address"].partition("?")[2]) == {
            **{name: [value] for name, value in OWN_MODELS.items()}, "lesson": ["mine"], "step": ["1"],
        }  # fmt: skip
        assert not {*example} & {*back["carried"]}
    if way == "after a link out of it":
        at.query_params.clear()
        at.query_params.update(example)
        at.run()
    in_lesson = models_of(at)
    assert in_lesson == (OWN_MODELS if way == "at the step" else example)
    leave(at, in_lesson)
    assert at.title[0].value == before[-1].capitalize()
    assert models_of(at) == {name: at.query_params[name] for name in OWN_MODELS} == OWN_MODELS
    assert at.query_params["view"] == views[before[-1]]


def test_an_address_of_the_lesson_that_comes_late_opens_it_no_more(own: Path) -> None:
    """As where the browser's window changes before it has opened the address that it is told to."""
    (own / "mine.yaml").write_text(COMPARES)
    at = opened("parameters", view="Layers", **OWN_MODELS)
    at.query_params.update(lesson="mine", step="1")
    at.switch_page("../pages/architecture.py").run().run()
    late = dict(at.query_params)
    at.button(key="tour_leave").click().run()
    at.switch_page("../pages/architecture.py").query_params.update({**late, "other": "negations/checkpoint-20"})
    at.run()
    assert "tour" not in at.session_state
    again = parse_qs(component(at, "pages")["again"].removeprefix("?"))
    assert {name: [value] for name, value in OWN_MODELS.items()}.items() <= again.items()
    at.query_params.clear()
    at.query_params.update(again)
    at.switch_page("../pages/parameters.py").run()
    assert (at.title[0].value, models_of(at)) == ("Parameters", OWN_MODELS)
    assert at.query_params["view"] == "Layers"


OF_A_RUN = (RUN_LESSON, WRONG)
"""Lessons about a classifier and its training run."""
CHOSEN = {"model": "negations/checkpoint-80", "other": "negations/checkpoint-40", "training": "negations"}
"""What the reader of a guide has chosen."""


def places() -> list[tuple[str, str, str | None, Step, View]]:
    """Every step and every link of every shipped lesson: lesson, number, number of the link, the step, the view."""
    return [
        (name, str(number), trial, step, view)
        for name in ORDER
        for number, step in enumerate(lesson(name).steps, start=1)
        for trial, view in [(None, step), *((str(place), each) for place, each in enumerate(step.trials, start=1))]
    ]


@pytest.mark.parametrize(
    ("name", "step", "trial", "whole", "view"),
    [
        pytest.param(
            *each,
            id="-".join(str(part) for part in each[:3] if part),
            marks=[pytest.mark.slow] if each[0] in OF_A_RUN else [],
        )
        for each in places()
    ],
)
@pytest.mark.sample(5)
def test_every_link_opens_the_view_that_it_names(
    name: str, step: str, trial: str | None, whole: Step, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    query = {key: values[0] for key, values in view.query.items()}
    own = {key: value for key, value in CHOSEN.items() if name == WRONG and key not in query}
    at = opened(view.page, **query, **own, lesson=name, step=step, **({} if trial is None else {"try": trial}))
    assert card(at)["away"] == ""
    assert not at.warning
    assert not at.error
    assert not at.toast
    sent = header(at) if view.page == "journey" else {}
    path = sent.get("path", {})
    drawn = {"query": path.get("token"), "layer": path.get("open"), "head": path.get("head"), "key": path.get("key")}
    drawn |= {name: sent.get(name) for name in ("colour", "ribbon")}
    for key, value in query.items():
        if query.get("answers_from") == "file" and key not in at.session_state:  # until the file is there
            assert at.query_params[key] == value, key
            continue
        if (key, value) == ("layer", "most"):
            turn = open_model(DEFAULT_MODEL).journey(at.session_state["text"]).data.turn
            value = str(turn[:, path["token"]].argmax())
        if (key, value) == ("layer", "last"):
            value = str(open_model(DEFAULT_MODEL).architecture().data.num_hidden_layers - 1)
        if (key, value) == ("answers_from", TEXTS_FILE):
            value = "example set"  # of a classifier with its labels
        assert str(drawn[key] if path and key in drawn else at.session_state[key]).lower() == value.lower(), key
    text = view.text or whole.text
    if text is not None:
        assert (at.session_state["text"], at.session_state["pair"]) == (text, (view if view.text else whole).pair or "")
    sentences = view.sentences or whole.sentences
    if sentences is not None and "example" not in query:
        assert at.session_state["sentences"] == "\n".join(sentences)


def test_every_step_names_its_view_and_its_layer_since_pages_remember_both() -> None:
    for *_, view in places():
        assert "layer" in view.query or view.page != "attention"
        assert ("view" in view.query) is (view.page not in ("overview", "journey", "tokens", "attention"))
        shown = view.query.get("view")
        of_layer = {
            "heads": view.query.get("weights_of") != ("all layers",),
            "sentences": shown not in (("Poolings",), ("Outside vectors",)),
        }
        assert "layer" in view.query or not of_layer.get(view.page)
