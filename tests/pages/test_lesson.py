"""The tour above the pages: a step is a link, its texts replace and come back, a bad lesson is one sentence.

Covers `ui/lessons/tour.py`.
"""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opened import opened, said
from ui.lessons.tour import FIRST

TEXT = "Sinan loves a beautiful day"


def bar(at: AppTest) -> str:
    """What the bar says; it stands first."""
    assert not at.exception
    return said(" ".join(each.value for each in at.markdown[:2]))


def links(at: AppTest, key: str) -> dict[str, str]:
    """Label -> address of the links of this key."""
    (found,) = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith(f"-{key}")]
    return {link["label"]: link["address"] for link in json.loads(found.json)["links"]}


def at_step(number: int, page: str, **query: str) -> AppTest:
    return opened(page, lesson=FIRST, step=str(number), **query)


def test_a_step_shows_its_note_its_question_and_its_text() -> None:
    at = at_step(4, "tokens", token="1")
    assert "step 4 of 10:] **From a text to tokens**" in bar(at)
    assert "**Try:** Write your own name" in bar(at)
    assert at.text_area(key="text").value == TEXT
    assert at.number_input(key="token").value == 1
    assert links(at, "tour_links") == {
        "Back": f"parameters?model=bert-base-uncased&view=Layers&lesson={FIRST}&step=3",
        "Next": f"representations?states=Input&lesson={FIRST}&step=5",
    }
    assert len(links(at, "tour_steps")) == 10


def test_the_ends_of_the_lesson_lead_nowhere_else() -> None:
    assert links(at_step(1, "overview", model="bert-base-uncased"), "tour_links")["Back"] == ""
    assert links(at_step(10, "sentences", example="paraphrases"), "tour_links")["Next"] == ""


def test_the_name_alone_leads_to_the_first_step() -> None:
    at = opened("tokens", lesson=FIRST)
    assert "step 1 of 10" in bar(at)
    assert at.title[0].value == "Overview"
    assert at.selectbox(key="model").value == "bert-base-uncased"


def test_a_step_opened_at_another_page_leads_to_its_own() -> None:
    at = at_step(8, "overview")
    assert at.title[0].value == "Attention"
    assert [at.number_input(key=key).value for key in ("at", "head")] == [1, 8]


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
    at.button(key="tour_leave").click().run()
    assert at.text_area(key="sentences").value == "Mine.\nYours."


def test_on_another_page_the_bar_names_the_page_of_the_step() -> None:
    at = at_step(4, "tokens", token="1")
    del at.query_params["lesson"], at.query_params["step"]  # as a click in the navigation does
    at.switch_page("../pages/overview.py").run()
    assert "step 4 of 10" in bar(at)
    assert "This step is on the page Tokens." in " ".join(each.value for each in at.caption)
    assert links(at, "tour_links")["Show this step"] == f"tokens?token=1&lesson={FIRST}&step=4"


@pytest.mark.parametrize(
    ("name", "step", "sentence"),
    [
        ("../../app", "1", "There is no lesson '../../app'"),
        ("<b>x</b>", "1", "There is no lesson '<b>x</b>'"),
        (FIRST, "11", "has 10 steps, and '11' is none of them."),
        (FIRST, "0", "has 10 steps, and '0' is none of them."),
        (FIRST, "²", "has 10 steps, and '²' is none of them."),
        (FIRST, "9" * 5_000, "is none of them."),
    ],
    ids=["path", "markup", "behind", "zero", "digit", "long"],
)
def test_an_address_without_a_lesson_is_one_sentence_and_the_page_stays(name: str, step: str, sentence: str) -> None:
    at = opened("tokens", lesson=name, step=step)
    assert not at.exception
    assert sentence in said(at.warning[0].value)
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
    assert hostile in bar(at)
    for text in (each.value for each in (*at.markdown, *at.caption) if "evil" in each.value):
        assert "http://" not in text
        assert "](" not in text
        assert " <b>" not in text
    at.session_state["lessons_open"] = True
    at.run()
    assert list(links(at, "lessons_list")) == ["BERT from the outside in, 10 steps", f"{hostile}, 1 step"]
    faults = " ".join(said(each.value) for each in at.caption)
    assert "The lesson bad.yaml, step 1, field page: 'nowhere' is no page" in faults


def test_a_lesson_that_was_changed_is_read_again(own: Path) -> None:
    import os

    path = own / "mine.yaml"
    path.write_text("title: First\nsteps:\n- {page: tokens, title: a, note: b}\n")
    at = opened("tokens", lesson="mine", step="1")
    path.write_text("title: Second\nsteps:\n- {page: tokens, title: a, note: b}\n")
    os.utime(path, ns=(1, 1))
    assert "Second, step 1 of 1" in bar(at.run())


def test_the_overview_offers_the_tour_until_it_is_taken() -> None:
    at = opened("overview")
    address = f"?model=bert-base-uncased&lesson={FIRST}&step=1"
    assert links(at, "tour_entry_link") == {"Take the tour: BERT from the outside in, 10 steps": address}
    taken = at_step(1, "overview", model="bert-base-uncased")
    assert not [each for each in taken.get("bidi_component") if each.proto.id.endswith("-tour_entry_link")]
