"""The glossary on the pages: a word is left out where it means something else.

Covers `ui/components/frame/__init__.py`.
"""

import json
from pathlib import Path

from bertviz_core.figures.pages import ENTRIES
from ui.components.frame import OTHER_SENSE, WORDS

PAGES = {path.stem for path in (Path(__file__).parents[3] / "pages").glob("[a-z]*.py")}


def test_words_with_another_sense_are_words_of_the_glossary() -> None:
    assert set(OTHER_SENSE) <= PAGES
    assert {word for words in OTHER_SENSE.values() for word in words} <= {each.word for each in ENTRIES}


def test_every_page_has_the_glossary_but_not_words_that_mean_something_else_there() -> None:
    from tests.pages.opened import opened

    for page in ("checkpoint", "overview"):
        (proto,) = [
            each.proto for each in opened(page).get("bidi_component") if each.proto.id.endswith("-glossary_words")
        ]
        assert ("head" in json.loads(proto.json)["unlike"]) is (page == "checkpoint")
    assert [each["word"] for each in json.loads(WORDS)] == [each.word for each in ENTRIES]
