"""Views are pinned on several pages, edited, downloaded as a lesson and as a report, and opened again from the file.

Covers `ui/lessons/pinning.py`, `ui/lessons/pins.py`, and without a browser
`ui/components/frame/__init__.py`.
"""

import base64
import json
import re
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import FIRST, PAGES
from bertviz_core.trace.pieces import REFERENCE_TOKENIZERS
from tests.pages.opened import opened, visible_text
from tests.pages.test_lesson import addresses, card, component
from tests.ui.lessons.shipped import lesson as shipped
from ui.cache.figures import cached_sections
from ui.lessons import pins
from ui.lessons.library import PINNED, VALUE, Lesson, lesson_yaml, parse_lesson
from ui.lessons.pins import WITHOUT_FIGURE, PinnedViews, pinned_report
from ui.lessons.tour import ORDER

NOTE = "no: *1e3* <b>\U0001f40d</b> ![x](http://evil.example/x.png)"


def shown(at: AppTest) -> AppTest:
    """The page with the open panel."""
    at.session_state["pins_open"] = True
    at.run()
    assert not at.exception
    return at


def pin(at: AppTest, note: str = "", title: str = "") -> AppTest:
    """Pin the current view."""
    shown(at)
    at.text_input(key="pin_title").set_value(title)
    at.text_area(key="pin_note").set_value(note)
    at.button(key="pin_submit").click().run()
    assert not at.exception
    return at


def views(at: AppTest) -> PinnedViews:
    """The pinned views of the session."""
    found: PinnedViews = at.session_state["pinned_views"]
    return found


def labels(at: AppTest) -> list[str]:
    """Label of the button that pins the view."""
    return [label for each in at.get("popover") if (label := each.proto.popover.label).startswith("Pin")]


def lesson_file(at: AppTest) -> Lesson:
    """The lesson of the file that can be downloaded."""
    return parse_lesson(lesson_yaml(views(at).lesson()).encode(), "mine.yaml", sorted(PAGES))


def on_three_pages() -> AppTest:
    at = pin(opened("attention", layer="2", head="5", text="Mine.", pair="Yours."), NOTE, "no")
    at.switch_page("../pages/tokens.py").run()
    pin(at)
    at.switch_page("../pages/parameters.py").run()
    at.query_params["view"] = "Layers"
    return pin(at, "Six alike.")


@pytest.mark.slow
def test_views_of_three_pages_are_a_lesson_with_their_notes() -> None:
    at = on_three_pages()
    attention, tokens, parameters = lesson_file(at).steps
    assert (attention.page, attention.title, attention.note) == ("attention", "no", NOTE)
    assert attention.query == {"layer": ("2",), "head": ("5",)}
    assert (attention.text, attention.pair) == ("Mine.", "Yours.")
    assert (tokens.title, tokens.note, tokens.text) == ("Tokens", PAGES["tokens"].question, "Mine.")
    assert (parameters.title, parameters.query, parameters.text) == ("Parameters: Layers", {"view": ("Layers",)}, None)
    assert labels(at) == ["Pin this view (3)"]
    assert visible_text(shown(at).radio(key="pinned_chosen").options[0]) == "1. no"
    for text in (each.value for each in (*at.markdown, *at.caption) if "evil" in each.value):
        assert "](" not in text


def test_the_report_has_title_note_and_figures_of_every_view() -> None:
    at = on_three_pages()
    report = pinned_report(views(at)).decode()
    titles = [unescape(title) for title in re.findall(r"<section id=\"[^\"]+\"><h2>([^<]*)</h2>", report)]
    assert [titles.index(each) for each in ("no", "Tokens", "Parameters: Layers")] == sorted(
        titles.index(each) for each in ("no", "Tokens", "Parameters: Layers")
    )
    assert "Attention of layer 2, head 5 — all-MiniLM-L6-v2" in titles
    assert "Two texts in 7 tokens — all-MiniLM-L6-v2" in titles
    assert "Six alike." in report
    assert "<b>" not in report.partition("<main>")[2].partition("</main>")[0].replace("\\u003cb\\u003e", "")
    assert len(re.findall(r"<li><a ", report)) == 3
    assert WITHOUT_FIGURE not in report
    assert len(set(re.findall(r'<section id="([^"]+)"', report))) == len(titles)


@pytest.mark.slow
def test_a_note_is_changed_views_are_moved_and_removed_and_the_list_is_emptied() -> None:
    at = shown(on_three_pages())
    token = views(at).pins[2].token
    assert at.text_area(key=f"pinned_note_{token}").value == "Six alike."
    at.text_area(key=f"pinned_note_{token}").set_value("All six alike.").run()
    at.button(key="pinned_up").click().run()
    assert [each.step.note for each in views(at).pins][1:] == ["All six alike.", PAGES["tokens"].question]
    at.button(key="pinned_remove").click().run()
    assert [each.step.page for each in views(at).pins] == ["attention", "tokens"]
    at.switch_page("../pages/heads.py").run()
    assert [each.step.note for each in views(at).pins] == [NOTE, PAGES["tokens"].question]
    shown(at).button(key="pinned_empty").click().run()
    at.button(key="pinned_empty_yes").click().run()
    assert views(at).pins == ()
    assert not [each for each in at.button if each.key == "pinned_empty"]


def test_the_texts_of_the_lesson_are_in_its_file() -> None:
    at = pin(opened("tokens"))
    shown(at)
    at.text_input(key="pinned_lesson_0_title").set_value("What a token is").run()
    at.text_area(key="pinned_lesson_0_summary").set_value("Pieces of words.").run()
    at.selectbox(key="pinned_lesson_0_following").set_value(ORDER[0]).run()
    written = yaml.safe_load(lesson_yaml(views(at).lesson()))
    assert (written["title"], written["summary"], written["next"]) == ("What a token is", "Pieces of words.", ORDER[0])


def test_a_dropped_lesson_becomes_pinned_views_and_is_presented_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.components.frame.window_height", lambda: 900)  # as a browser reports it
    first = shipped(ORDER[0])
    at = shown(opened("tokens"))
    at.file_uploader(key="pinned_file_0").upload("mine.yaml", lesson_yaml(first).encode(), "application/yaml").run()
    assert [each.step for each in views(at).pins] == list(first.steps)
    assert views(at).title == first.title
    links = addresses(component(at, "pinned_present")["links"])
    assert links["Present"].endswith(f"lesson={PINNED}&step=1&present=true")
    assert "10 views were not drawn in this session yet" in " ".join(each.value for each in at.caption)
    assert at.button(key="pinned_draw").label == "Draw the 10 views that slides and report need"
    report = pinned_report(views(at)).decode()
    assert report.count(WITHOUT_FIGURE) == 10
    at.query_params.update({"lesson": PINNED, "step": "4", "present": "true"})
    at.query_params["token"] = "1"
    at.run()
    assert (card(at)["count"], card(at)["present"]) == ("step 4 of 10", None)
    assert all("present" in link["carried"] for link in card(at)["ways"] if link["address"])
    assert cached_sections(views(at).pins[3].token), "a view that is shown has its figures in the report"


def test_a_dropped_file_that_is_no_lesson_is_one_sentence() -> None:
    at = shown(opened("tokens"))
    at.file_uploader(key="pinned_file_0").upload("*my*.yaml", b"title: 1\nsteps: []\n", "application/yaml").run()
    assert not at.exception
    (error,) = [visible_text(each.value) for each in at.error]
    assert error == "The lesson *my*.yaml, field steps: write a list of 1 to 60 steps."
    at.session_state["lessons_open"] = True
    at.run()
    at.file_uploader(key="lessons_file_0").upload("a.yaml", b"\xff", "application/yaml").run()
    assert "The lesson a.yaml is not text in UTF-8" in " ".join(visible_text(each.value) for each in at.error)


def test_a_lesson_dropped_into_the_menu_is_offered_first_in_this_session_alone() -> None:
    at = opened("tokens")
    at.session_state["lessons_open"] = True
    at.run()
    file = lesson_yaml(shipped(ORDER[3])).encode()
    at.file_uploader(key="lessons_file_0").upload("Tokens & more.yaml", file, "application/yaml").run()
    name, address = next(iter(addresses(component(at, "lessons_list")["links"]).items()))
    assert name.startswith("Tokens, 9 steps")
    assert "lesson=tokens&step=1" in address
    other = opened("tokens", lesson="tokens-more", step="1")
    assert "There is no lesson" in visible_text(other.warning[0].value)


def test_more_views_than_a_lesson_has_steps_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins, "MOST_PINS", 1)
    at = pin(pin(opened("tokens")))
    assert len(views(at).pins) == 1
    shown(at)
    at.text_area(key="pin_note").set_value("b")
    at.button(key="pin_submit").click().run()
    assert "2 views would be pinned, more than the 1 steps of a lesson" in " ".join(
        visible_text(e.value) for e in at.error
    )


def test_what_is_too_long_for_a_step_is_named() -> None:
    long = "bank " * VALUE
    at = shown(opened("representations", view="One word, two texts", first_text=long, word="bank"))
    assert "no room for it: first_text" in visible_text(" ".join(each.value for each in at.caption))
    (step,) = lesson_file(pin(at)).steps
    assert step.query == {"view": ("One word, two texts",), "word": ("bank",)}


def test_typed_sentences_are_the_list_of_the_step() -> None:
    (step,) = lesson_file(pin(opened("sentences", sentences="One.\n\nTwo: no."))).steps
    assert step.sentences == ("One.", "Two: no.")
    assert step.text is None


def test_share_copies_the_view_as_a_step() -> None:
    at = opened("attention", layer="2", head="5", text="Mine: no.")
    at.session_state["share_open"] = True
    at.run()
    (code,) = [each.value for each in at.code if each.value.startswith("- title:")]
    (step,) = parse_lesson(f"title: Mine\nsteps:\n{code}".encode(), "mine.yaml", sorted(PAGES)).steps
    assert (step.page, step.query, step.text) == ("attention", {"layer": ("2",), "head": ("5",)}, "Mine: no.")


def test_the_presenter_has_neither_pins_nor_share_in_sight_and_figures_are_enlarged() -> None:
    at = opened("tokens", present="true")
    assert [each.proto for each in at.get("bidi_component") if each.proto.id.endswith("presenter_way_out")]
    assert labels(at) == []
    sizes: list[Any] = [
        json.loads(each.proto.json) for each in at.get("bidi_component") if "page_width" in each.proto.id
    ]
    assert [(each["enlarged"], each["tall"]) for each in sizes] == [(1.3, True)]
    usual = opened("tokens")
    assert not [each.proto for each in usual.get("bidi_component") if each.proto.id.endswith("presenter_way_out")]


def drawings(report: str) -> list[dict[str, Any]]:
    """Header of the message of each drawing in a report."""
    pages = [unescape(each) for each in re.findall(r'<iframe [^>]*srcdoc="([^"]*)"', report)]
    messages = [base64.b64decode(re.findall(r'id="data">([^<]*)<', page)[0]) for page in pages]
    return [json.loads(each[4 : 4 + int.from_bytes(each[:4], "little")]) for each in messages]


def test_attention_is_in_the_report_with_the_pinned_query_and_the_open_heads_of_its_address() -> None:
    look = "lines_hide-5_heads-2.5-1.3_pins-q3"
    report = pinned_report(views(pin(opened("attention", layer="2", head="5", look=look)))).decode()
    (header,) = drawings(report)
    assert header["heads"] == [[2, 5], [1, 3]]
    shown = header["answers"]["look"]
    assert (shown["lines"], shown["hide"], shown["pins"]) == (True, 5, ["q3"])
    assert "Plotly.newPlot" not in report.partition("<main>")[2], "no figure with other lines"


@pytest.mark.slow
def test_the_journey_is_in_the_report_as_the_drawing_with_its_open_layer() -> None:
    at = pin(opened("journey", query="3", layer="2", head="1", colour="length", text="Mine: <b>no</b>."))
    report = pinned_report(views(at)).decode()
    (header,) = drawings(report)
    assert header["path"] == {"token": 3, "open": "2", "head": 1, "key": None}
    assert (header["colour"], header["text"]) == ("length", "Mine: <b>no</b>.")
    assert "<b>no" not in report.partition("<main>")[2]
    assert "Plotly.newPlot" not in report.partition("<main>")[2]


@pytest.mark.parametrize("query", [{}, {"tokenizer": list(REFERENCE_TOKENIZERS)[1]}], ids=["default", "chosen"])
def test_a_second_tokenizer_is_in_the_report_where_the_address_names_it(query: dict[str, str]) -> None:
    report = pinned_report(views(pin(opened("tokens", **query)))).decode()
    names = re.findall(r'<section id="pinned-1-view-([^"]+)"', report)
    assert names == ["tokens_text", "tokens_neighbours", *(["tokens_second"] if query else [])]


def test_figures_that_the_reader_takes_out_are_not_in_the_report() -> None:
    at = shown(pin(opened("tokens")))
    token = views(at).pins[0].token
    strip, near = (at.checkbox(key=f"pinned_view-{name}_{token}") for name in ("tokens_text", "tokens_neighbours"))
    assert (strip.value, near.value) == (True, True)
    near.uncheck().run()
    report = pinned_report(views(at)).decode()
    assert re.findall(r'<section id="([^"]+)"', report) == ["pinned-1", "pinned-1-view-tokens_text"]


def test_a_view_is_replaced_by_the_current_one_and_keeps_its_note() -> None:
    at = pin(opened("attention", layer="2", head="5"), NOTE)
    at.query_params["head"] = "7"
    at.number_input(key="head").set_value(7).run()
    shown(at).button(key="pinned_replace").click().run()
    (step,) = lesson_file(at).steps
    assert (step.note, step.query["head"], step.title) == (NOTE, ("7",), "Attention: layer 2, head 7")
    assert "Attention of layer 2, head 7" in pinned_report(views(at)).decode()


def test_views_of_a_file_are_drawn_one_after_the_other_and_the_readers_own_view_comes_back() -> None:
    file = b"title: Two\nsteps:\n" + b"".join(
        f"- {{title: {title}, page: {page}, query: {query}, text: {text}, note: n}}\n".encode()
        for title, page, query, text in (
            ("One", "tokens", "{token: 2}", "Theirs."),
            ("Two", "attention", "{layer: 1, head: 3}", "Others."),
        )
    )
    at = shown(opened("tokens", token="1", text="My own."))
    at.file_uploader(key="pinned_file_0").upload("two.yaml", file, "application/yaml").run()
    shown(at).button(key="pinned_draw").click().run()
    for number, (page, query) in enumerate([("tokens", {"token": "2"}), ("attention", {"layer": "1", "head": "3"})], 1):
        whole = component(at, "pinned_next")["address"]
        assert whole.startswith(f"{page}?")
        assert f"lesson={PINNED}&step={number}" in whole
        browse(at, whole)
        assert not at.exception
        assert all(at.query_params[name] in (value, [value]) for name, value in query.items()) or number < 2
    whole = component(at, "pinned_next")["address"]
    assert "lesson" not in whole
    assert "token=1" in whole
    browse(at, whole)
    assert at.text_area(key="text").value == "My own."
    report = pinned_report(views(at)).decode()
    assert WITHOUT_FIGURE not in report
    assert "Attention of layer 1, head 3" in report
    assert not [each for each in shown(at).button if each.key == "pinned_draw"]


def test_a_drawing_that_is_stopped_leaves_the_other_views_without_figures() -> None:
    at = shown(opened("tokens", text="My own."))
    at.file_uploader(key="pinned_file_0").upload("mine.yaml", lesson_yaml(shipped(ORDER[0])).encode()).run()
    shown(at).button(key="pinned_draw").click().run()
    at.session_state["pinned_views_drawn"] = replace(at.session_state["pinned_views_drawn"], at=10, to_open=True)
    at.run()
    whole = component(at, "pinned_next")["address"]
    browse(at, whole)
    assert at.text_area(key="text").value == "My own."
    assert shown(at).button(key="pinned_draw").label == "Draw the 10 views that slides and report need"


def browse(at: AppTest, whole: str) -> None:
    """Open an address as the browser does."""
    page, _, query = whole.partition("?")
    at.switch_page(f"../pages/{page or FIRST}.py")
    at.query_params.clear()
    for name, values in parse_qs(query).items():
        at.query_params[name] = values[0]
    at.run()
