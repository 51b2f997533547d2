"""The glossary: every row of its document is a word with one meaning, in plain text, also found in its plural.

Covers `bertviz_core/figures/pages.py`.
"""

from pathlib import Path

from bertviz_core.figures.journey.html_file import TERMS
from bertviz_core.figures.pages import ENTRIES, Entry, glossary_entries

ROOT = Path(__file__).parents[2]


def test_every_row_of_the_document_is_an_entry() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert len(ENTRIES) == sum(line.startswith("| ") for line in text.splitlines()) - 2
    assert all(each.word and each.meaning for each in ENTRIES)
    assert not [each.word for each in ENTRIES if "`" in each.word + each.meaning or "\\" in each.meaning]


def test_marks_of_markdown_are_taken_off() -> None:
    (entry,) = glossary_entries("# G\n\n| word | meaning |\n| --- | --- |\n| `[X]`, y | sum \\|i - j\\| of `a` |\n")
    assert entry == Entry("[X], y", "sum |i - j| of a")


def test_a_word_has_a_plural_and_words_of_one_row_are_found_each() -> None:
    assert Entry("vocabulary, key vector", "").forms == (
        *("vocabulary", "vocabularies"),
        *("key vector", "key vectors"),
    )
    assert Entry("way", "").forms == ("way", "ways")


def test_no_word_is_explained_twice() -> None:
    forms = [form.lower() for each in ENTRIES for form in each.forms]
    assert len(forms) == len(set(forms))


def test_words_that_the_drawing_explains_are_words_of_the_glossary() -> None:
    assert set(TERMS) <= {form for each in ENTRIES for form in each.forms}
