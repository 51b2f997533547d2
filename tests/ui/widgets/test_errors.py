"""Untrusted words on a page are shown literally, and a refusal ends the page without a traceback."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from bertviz_core.text import escape_markdown

ACTIVE = (
    "![x](http://evil.example/x.png)",
    "[a](javascript:alert(1))",
    "<iframe src=//evil.example></iframe>",
    "<img src=x onerror=alert(1)>",
    "$x^2$ and $$y$$",
    ":material/home:",
    ":red[x] :red-background[y]",
    "**bold** __bold__ *i* _i_ ~~gone~~ `code`",
    "# Title",
    "> quote",
    "| a | b |\n| - | - |\n| c | d |",
    "- item\n- item\n\n1. one",
    "```\ncode\n```",
    "&lt;b&gt; &amp; &copy;",
    "a\\b \\",
    "\\*not escaped twice\\*",
)


ADDRESSES = (
    "http://evil.example/x",
    "HTTPS://evil.example",
    "(https://evil.example)",
    "www.evil.example",
    "WWW.evil.example",
    "me@evil.example",
    "m.e+x@evil.example",
    "me.@evil.example",
    "me+@evil.example",
    "mailto:me@evil.example",
    "xmpp:me@evil.example",
)
LINKED = re.compile(r"https?://[-.\w]|www\.[-.\w]|[-.\w+]@[-\w]", re.IGNORECASE)
"""Text that becomes a link in a finished paragraph (GitHub Flavored Markdown, 6.9), even if it was escaped."""
JOINER = "\u2060"
"""A zero-width character, which prevents automatic links."""


def bare(escaped: str) -> str:
    """Punctuation without a backslash before it, by CommonMark's rule for backslash escapes."""
    return re.sub(r"\\[!-/:-@\[-`{-~]", "", escaped)


def shown(escaped: str) -> str:
    """Text shown by CommonMark if all punctuation is escaped."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped)


def visible(text: str) -> str:
    """The text without zero-width characters."""
    return text.replace(JOINER, "")


@pytest.mark.parametrize("text", ACTIVE)
def test_no_punctuation_stays_active(text: str) -> None:
    assert not set(bare(escape_markdown(text))) & set(string.punctuation)


@pytest.mark.parametrize("text", ACTIVE)
def test_what_is_shown_is_what_was_said_on_one_line(text: str) -> None:
    assert visible(shown(escape_markdown(text))) == " ".join(text.split())


@pytest.mark.parametrize("text", ADDRESSES)
def test_no_address_becomes_a_link(text: str) -> None:
    assert LINKED.search(text)
    assert not LINKED.search(shown(escape_markdown(f"of {text}, here")))
    assert visible(shown(escape_markdown(text))) == text


@settings(deadline=None)
@given(st.text())
def test_any_text_is_one_line_without_active_punctuation(text: str) -> None:
    found = escape_markdown(text)
    assert len(found.splitlines()) <= 1
    assert not set(bare(found)) & set(string.punctuation)
    assert visible(shown(found)) == visible(" ".join(text.split()))
    assert not LINKED.search(shown(found))


def test_words_alone_stay_as_they_are() -> None:
    assert escape_markdown("bert base  größer 模型") == "bert base größer 模型"
    assert escape_markdown("") == ""


def refused_page() -> None:
    import streamlit

    from bertviz_core.errors import ModelNotFoundError
    from ui.widgets.run_model import shown_to_user

    streamlit.text("before")
    with shown_to_user():
        raise ModelNotFoundError("'![x](http://evil.example)'\nis no model here.")
    streamlit.text("after")  # type: ignore[unreachable]  # what the test is about


def test_a_refusal_is_one_error_and_the_end_of_the_page() -> None:
    at = AppTest.from_function(refused_page).run()
    assert [error.value for error in at.error] == [escape_markdown("'![x](http://evil.example)' is no model here.")]
    assert [text.value for text in at.text] == ["before"]
    assert not at.exception


def broken_page() -> None:
    from ui.widgets.run_model import shown_to_user

    with shown_to_user():
        raise ValueError("a programmer's mistake")


def test_a_programmers_mistake_is_not_told_as_a_refusal() -> None:
    at = AppTest.from_function(broken_page).run()
    assert not at.error
    assert len(at.exception) == 1


@pytest.mark.parametrize(
    "work", ["np.empty(2**62, dtype=np.uint8)", "torch.empty(2**62, dtype=torch.uint8)", "raise MemoryError"]
)
def test_a_lack_of_memory_ends_its_own_page_in_one_sentence(work: str) -> None:
    at = AppTest.from_string(
        "import numpy as np\nimport torch\nfrom ui.widgets.run_model import shown_to_user\n"
        f"with shown_to_user():\n    {work}\n"
    ).run()
    assert not at.exception
    assert [each.value.count("not enough memory") for each in at.error] == [1]


def test_another_fault_is_not_taken_for_a_lack_of_memory() -> None:
    at = AppTest.from_string(
        "from ui.widgets.run_model import shown_to_user\nwith shown_to_user():\n    raise RuntimeError('another')\n"
    ).run()
    assert len(at.exception) == 1
