"""The map's message encodes its content in few bytes, and messages of the browser are validated.

Covers `ui/components/corpus_map/__init__.py`.
"""

import json
import struct
from typing import Any

import numpy as np
import pytest

from bertviz_core.corpus.analysis.results import MapWindow
from bertviz_core.figures.base.style import DARK, LIGHT
from ui.components import corpus_map
from ui.components.corpus_map import MapScene, group_colours, levels, map_payload

WINDOW, WHOLE = MapWindow(-1.0, 2.0, 0.5, 3.0), MapWindow(-4.0, 5.0, -2.0, 6.0)
COUNTS = np.array([[0, 1, 5], [1000, 0, 2]])


def scene(**changes: Any) -> MapScene:
    inputs = {"identity": "i", "label": "Map", "words": "w", "whole": WHOLE, "window": WINDOW, "counts": COUNTS}
    return MapScene(**{**inputs, **changes})


def parsed(message: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack_from("<I", message)
    return json.loads(message[4 : 4 + length]), message[4 + length :]


def test_a_cell_of_one_row_is_seen_beside_one_of_a_thousand() -> None:
    found = levels(COUNTS)
    assert found.dtype == np.uint8
    assert found[1, 0] == 255
    assert (found == 0).tolist() == (COUNTS == 0).tolist()
    order = np.argsort(COUNTS.ravel(), kind="stable")
    assert (np.diff(found.ravel()[order].astype(int)) >= 0).all()
    assert found[0, 1] == round(255 * np.log(2) / np.log(1001))
    assert levels(np.zeros((2, 2), int)).max() == 0


def test_cells_travel_from_low_to_high_with_their_window() -> None:
    header, rest = parsed(map_payload(scene(), LIGHT, 7, [(0.0, 1.0), (1.0, 1.0), (1.0, 2.0)]))
    assert header["window"] == [-1.0, 2.0, 0.5, 3.0]
    assert header["whole"] == [-4.0, 5.0, -2.0, 6.0]
    assert (header["size"], header["answers"], len(header["region"])) == ([3, 2], 7, 3)
    assert np.frombuffer(rest, np.uint8).tolist() == levels(COUNTS).ravel().tolist()


def test_groups_and_points_stand_behind_the_cells() -> None:
    points = np.array([[0.25, 1.5], [1.0, 2.0]], np.float32)
    cells = np.array([[-1, 0, 1], [1, -1, 0]])
    made = scene(
        groups=("a", "b\u202e"),
        cell_groups=cells,
        points=points,
        point_groups=np.array([1, 0]),
        texts=("<b>", "x" * 999),
    )
    header, rest = parsed(map_payload(made, DARK))
    assert [each["name"] for each in header["groups"]] == ["a", "bU+202E"]
    assert header["texts"][0] == "<b>"
    assert len(header["texts"][1]) < 200
    assert np.frombuffer(rest[6:12], np.uint8).tolist() == [0, 0, 1, 1, 0, 0]
    assert np.frombuffer(rest[12:28], np.float32).tolist() == points.ravel().tolist()
    assert list(rest[28:]) == [1, 0]


def test_a_picture_of_a_million_rows_is_small() -> None:
    counts = np.random.default_rng(0).integers(0, 90, (300, 480))
    groups = tuple(f"value {place}" for place in range(9))
    assert len(map_payload(scene(counts=counts, groups=groups, cell_groups=counts % 9), LIGHT)) < 2_000_000


def test_groups_have_colours_of_their_own_up_to_the_others() -> None:
    for theme in (LIGHT, DARK):
        colours = group_colours(10, theme)
        assert len(set(colours[:8])) == 8
        assert colours[8:] == [theme.muted] * 2


SAID = {"identity": "i", "serial": 3, "window": [0, 1, 0, 2], "region": [[0, 0], [1, 0], [1, 1]]}
WRONG: list[dict[str, Any]] = [
    {"window": [1, 0, 0, 2]},
    {"window": [0, 1, 0]},
    {"window": "0,1,0,2"},
    {"window": [0, 1, 0, float("nan")]},
    {"window": [0, 1, 0, float("inf")]},
    {"window": [0, 1, 0, True]},
    {"window": None},
]


@pytest.fixture
def browser_message(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    words = dict(SAID)
    monkeypatch.setattr(corpus_map, "stored", lambda key: {"message": words})
    return words


def test_what_the_browser_says_is_taken(browser_message: dict[str, Any]) -> None:
    state = corpus_map.map_state("key", "i")
    assert state.window == MapWindow(0, 1, 0, 2)
    assert state.region == ((0, 0), (1, 0), (1, 1))
    assert state.serial == 3
    assert corpus_map.map_state("key", "another map") == corpus_map.MapState(None, (), 0)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_window_that_is_none_is_the_whole(browser_message: dict[str, Any], wrong: dict[str, Any]) -> None:
    browser_message |= wrong
    assert corpus_map.map_state("key", "i").window is None


@pytest.mark.parametrize(
    "region",
    [[[0, 0], [1, 1]], [[0, 0]] * 3, [[0, 0], [1, 0], [2, 0]], [[0, 0, 0]] * 4, "abc", [None] * 3, [[0, 1]] * 999],
)
def test_a_region_that_is_none_selects_nothing(browser_message: dict[str, Any], region: Any) -> None:
    browser_message["region"] = region
    assert corpus_map.map_state("key", "i").region == ()
