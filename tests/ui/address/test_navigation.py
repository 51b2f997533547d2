"""How a view was reached: each run follows from the previous visit and the value of ARRIVE in the address."""

from dataclasses import replace
from itertools import product

import pytest

from ui.address.navigation import BACK, Visit, left_query, reached
from ui.components.frame import EXACT, LINK

LEFT = "?layer=3&head=4"
HEADS = Visit("heads", 3, first_run=False)


def runs(before: Visit, *now: tuple[str, str | None]) -> list[tuple[Visit, str]]:
    """Visits and actions of consecutive runs, each of a page and a value of ARRIVE."""
    made = []
    for page, carried in now:
        before, action = reached(before, page, carried)
        made.append((before, action))
    return made


def test_a_click_in_a_page_is_no_visit() -> None:
    ((visit, action),) = runs(HEADS, ("heads", None))
    assert (visit, action) == (HEADS, "draw")


def test_a_first_run_is_a_visit_that_remembers_nothing() -> None:
    ((visit, action),) = runs(Visit(), ("tokens", None))
    assert (visit, action) == (Visit("tokens", 1), "draw")


@pytest.mark.parametrize("page", ["heads", "tokens"])
def test_a_link_begins_the_script_anew_and_says_the_address_again_once(page: str) -> None:
    (first, begin), (second, say), (third, draw) = runs(HEADS, (page, LINK), (page, None), (page, None))
    assert (begin, say, draw) == ("begin again", "say again", "draw")
    assert first.number == second.number == third.number == HEADS.number + 1, "it is one visit"
    assert first.first_run == second.first_run == (page != "heads")
    assert not third.first_run
    assert not any(visit.complete for visit in (first, second, third)), "what the address leaves out is remembered"


def test_the_way_back_to_another_page_opens_its_whole_address_and_that_says_all() -> None:
    (first, action), (second, draw), (third, _) = runs(HEADS, ("tokens", LEFT), ("tokens", None), ("tokens", None))
    assert (action, draw) == ("open again", "draw")
    assert first.first_run
    assert (first.complete, second.complete, third.complete) == (False, True, False)
    assert first.number == second.number == third.number == HEADS.number + 1


@pytest.mark.parametrize("carried", [LEFT, "", "?", EXACT])
def test_the_way_back_within_a_page_and_a_step_of_a_lesson_say_all_at_once(carried: str) -> None:
    ((visit, action),) = runs(HEADS, ("heads", carried))
    assert (visit, action) == (Visit("heads", 4, first_run=False, complete=True), "draw")
    ((step, action),) = runs(HEADS, ("tokens", EXACT))
    assert (step, action) == (Visit("tokens", 4, complete=True), "draw")


@pytest.mark.parametrize(
    ("begun", "page", "carried"), list(product(("", LINK, BACK), ("heads", "tokens"), (None, LINK, EXACT, LEFT, "x")))
)
def test_no_way_ends_in_a_circle_and_every_other_page_is_another_visit(
    begun: str, page: str, carried: str | None
) -> None:
    """A run that ends before it draws is followed by one that draws: the address then has no value of ARRIVE."""
    before = replace(HEADS, begun=begun)
    visit, action = reached(before, page, carried)
    assert visit.page == page
    assert (visit.number > before.number) == (page != before.page or carried is not None)
    assert bool(visit.begun) == (action in ("begin again", "open again"))
    after, drawn = reached(visit, page, None)
    assert drawn in ("draw", "say again")
    assert (after.begun, after.number) == ("", visit.number)


@pytest.mark.parametrize(
    ("carried", "query"),
    [
        (LEFT, {"layer": ["3"], "head": ["4"]}),
        ("?models=a&models=b&text=", {"models": ["a", "b"], "text": [""]}),
        ("?embed=true&EMBED_options=x&view=Map", {"view": ["Map"]}),
        ("&".join(f"n{place}=1" for place in range(200)), {}),
        ("", {}),
    ],
)
def test_the_query_that_a_view_was_left_with(carried: str, query: dict[str, list[str]]) -> None:
    assert left_query(carried) == query
