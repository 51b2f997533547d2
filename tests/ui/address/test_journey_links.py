"""Links between the drawing of the Journey and the pages: of opened parts alone, and names in addresses are real."""

import re

import pytest

from bertviz_core.figures.pages import FIRST, PAGES
from ui.address.navigation import LINKS, PLACE, drawing_links, page_links, shared_names
from ui.address.registry import ROWS

FIELD = re.compile(r"\{(\w+)\}")
KNOWN = {"text": {"token"}, "answer": {"token"}, "embeddings": {"token"}, "layer": {"token", "layer"}}
KNOWN |= {"head": {*KNOWN["layer"], "head"}, "cell": {*KNOWN["layer"], "head", "key"}}
"""Part of the drawing -> what is selected where it is open."""


def test_the_drawing_links_what_is_opened_and_repeats_no_menu() -> None:
    assert {row["part"] for row in drawing_links(6, 4)} == {"embeddings", "layer", "head", "cell"}
    assert {row.page for row in LINKS} <= set(PAGES) - {"journey"}
    assert len({(row.part, row.page, row.view) for row in LINKS}) == len(LINKS)


def test_every_name_is_one_of_its_page_and_has_only_what_its_part_knows() -> None:
    of_page = {(page, row.param.key) for row in ROWS for page in row.pages}
    for row in LINKS:
        for name in row.names:
            assert (row.page, name.name) in of_page, row
            assert set(FIELD.findall(name.template)) <= KNOWN[row.part], row
            assert set(FIELD.findall(name.template)) <= set(PLACE), row


def test_a_view_has_one_way_back() -> None:
    named = [(row.page, row.view) for row in LINKS if row.names]
    assert len(set(named)) == len(named)


@pytest.mark.parametrize(("layers", "last"), [(1, "0"), (6, "5"), (12, "11")])
def test_what_a_page_shows_by_itself_is_a_number_of_the_model(layers: int, last: str) -> None:
    rows = {(row["part"], row["page"]): row for row in drawing_links(layers, 4)}
    assert len(rows) == sum(row.part not in ("text", "answer") for row in LINKS)
    assert not any(row["page"] == FIRST for row in rows.values())
    assert rows["layer", "architecture"]["names"] == [("layer", "{layer}", "0")]
    assert rows["layer", "representations"]["names"] == [("layer", "{layer}", last)]
    assert rows["cell", "heads"]["names"][2] == ("query", "{token}", "4")


def test_without_a_known_model_the_defaults_are_words_of_the_address() -> None:
    (values,) = page_links("representations", None, None)
    assert values == {"view": "Values", "names": [("layer", "{layer}", "last")]}
    (tokens,) = page_links("tokens", None, None)
    assert tokens["names"] == [("token", "{token}", "")]
    assert page_links("corpus", 6, 4) == []


def test_a_page_about_causes_gets_the_target_too() -> None:
    assert {"target", "measure"} <= set(shared_names("causes"))
    assert not set(PLACE.values()) & set(shared_names("attention"))
