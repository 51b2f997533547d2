"""The message of the attention view encodes the maps to half a step of a square root, and stays small.

Covers `bertviz_core/figures/attention/payload.py`, `bertviz_core/figures/attention/html_file.py` and
`ui/components/attention/*.py`.
"""

import base64
import json
import re
import struct
from dataclasses import replace
from functools import partial
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

from bertviz_core.attention.results import Axis, MapOptions, PooledMap
from bertviz_core.figures.attention.html_file import CSS, JS, attention_html, file_payload
from bertviz_core.figures.attention.payload import codes, identity, map_bits, view_payload
from bertviz_core.figures.attention.view_state import AHEAD_BYTES, maps_sent_ahead
from bertviz_core.figures.base.export import font_face
from bertviz_core.figures.base.style import DARK, LIGHT
from tests.helpers.hand_made_attention import EVIL, atlas_of, map_of
from ui.components.attention import view


def read(message):
    """Header and a reader of arrays, implemented from the format's description only."""
    (length,) = struct.unpack_from("<I", message)
    header = json.loads(message[4 : 4 + length].decode("utf-8"))
    arrays = message[4 + length :]

    def weights(described, offset, shape):
        size, levels, kind = (2, 65_535, "<u2") if described["bits"] == 16 else (1, 255, "u1")
        count = int(np.prod(shape))
        found = np.frombuffer(arrays[offset : offset + size * count], kind).reshape(shape).astype(np.float64)
        return described["scale"] * (found / levels) ** 2, levels

    return header, weights, len(arrays)


def packed(atlas, opened, **more):
    return read(view_payload(atlas, opened, title="t", theme=LIGHT, **more))


def assert_near(found, exact, scale, levels):
    """The square roots of the shares are at most half a step apart; those of tiny ones are one step."""
    apart = np.abs(np.sqrt(found / scale) - np.maximum(np.sqrt(exact / scale), (exact > 0) / levels))
    assert apart.max() <= (0.5 if levels == 255 else 1) / levels + 1e-6


@pytest.mark.parametrize(("seq", "bits"), [(9, 16), (50, 8)])
def test_thumbnails_and_maps_survive_the_wire(seq, bits):
    layers, heads = 7, 30
    exact, atlas = atlas_of(seq, layers, heads)
    header, weights, total = packed(atlas, [map_of(exact, atlas, 2, 5)])
    shown = header["atlas"]
    assert (shown["layers"], shown["heads"], shown["bits"]) == (layers, heads, bits)
    found, levels = weights(shown, 0, (layers, heads, seq, seq))
    assert_near(found, exact, shown["scale"], levels)
    (one,) = header["maps"]
    assert (one["layer"], one["head"], one["bits"]) == (2, 5, 16)
    found, levels = weights(one, one["offset"], (seq, seq))
    assert_near(found, exact[2, 5], one["scale"], levels)
    assert total == one["offset"] + 2 * seq * seq


def test_codes_reach_from_none_to_all():
    for bits, top in ((8, 255), (16, 65_535)):
        assert codes(np.array([0, 0.25, 1, 4], dtype=np.float32), 4.0, bits).tolist() == [
            0,
            round(top / 4),
            round(top / 2),
            top,
        ]
        assert codes(np.array([1e-30, 1e-12], dtype=np.float32), 4.0, bits).tolist() == [1, 1], "none is 0 alone"


@pytest.mark.slow
def test_a_base_model_at_512_tokens_stays_below_a_megabyte():
    exact, atlas = atlas_of(512, 12, 12)
    message = view_payload(atlas, [map_of(exact, atlas, 3, 4)], title="t", theme=LIGHT)
    assert len(message) + len(JS) + len(CSS) <= 955_000, "the server sends the code along"
    header, weights, total = read(message)
    assert header["maps"][0]["offset"] <= 600_000
    assert total - header["maps"][0]["offset"] == 512 * 512
    without = view_payload(atlas, [map_of(exact, atlas, 3, 4)], title="t", theme=LIGHT, with_atlas=False)
    assert len(without) <= 512 * 512 + 12_000
    assert read(without)[0]["atlas"] is None


def test_more_heads_make_smaller_thumbnails_that_are_max_pools():
    layers, heads, seq = 24, 16, 70
    exact, atlas = atlas_of(seq, layers, heads, side=70)
    header, weights, total = packed(atlas, [])
    shown = header["atlas"]
    rows, columns = shown["rowEdges"], shown["columnEdges"]
    assert total <= 600_000
    assert rows[0] == columns[0] == 0
    assert rows[-1] == columns[-1] == seq
    found, levels = weights(shown, 0, (layers, heads, len(rows) - 1, len(columns) - 1))
    pooled = np.empty_like(found)
    for row in range(len(rows) - 1):
        for column in range(len(columns) - 1):
            block = exact[:, :, rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            pooled[:, :, row, column] = block.max((-1, -2))
    assert_near(found, pooled, shown["scale"], levels)


def test_a_pooled_part_says_where_it_lies():
    _, atlas = atlas_of(100, 1, 2)
    part = PooledMap(0, 1, np.ones((3, 2), np.float32), np.array([10, 14, 18]), np.array([50, 60]))
    header, *_ = packed(atlas, [part], part=(10, 20, 50, 67))
    assert header["maps"][0]["rowEdges"] == [10, 14, 18, 20]
    assert header["maps"][0]["columnEdges"] == [50, 60, 67]
    assert header["maps"][0]["hidden"] is None
    with pytest.raises(ValueError, match="for the part"):
        packed(atlas, [part], part=(0, 20, 50, 67))


def test_a_map_of_another_size_is_a_mistake():
    exact, atlas = atlas_of(9, 1, 2)
    _, other = atlas_of(8, 1, 2)
    with pytest.raises(ValueError, match="9 x 9 in an atlas of 8 x 8"):
        packed(other, [map_of(exact, atlas, 0, 1)])


def test_labels_special_tokens_and_measures():
    _, atlas = atlas_of(12, 2, 3)
    merged = Axis((*atlas.queries.labels[:10], "last"), (*atlas.queries.positions[:10], (10, 11)))
    atlas = replace(atlas, queries=merged, thumbnails=atlas.thumbnails[:, :, :11], row_starts=np.arange(11))
    atlas.measures.entropy[1, 2] = np.nan
    shown = packed(atlas, [], special={0, 11})[0]["atlas"]
    assert shown["queries"]["labels"][1] == EVIL
    assert shown["queries"]["labels"][7] == "U+202Egnp"
    assert shown["queries"]["special"] == [0], "a word is special where all of its pieces are"
    assert shown["keys"]["special"] == [0, 11]
    assert [each["name"] for each in shown["measures"]][:2] == ["entropy", "mean distance"]
    assert shown["measures"][0]["values"][5] is None
    shares = np.array(shown["measures"][3]["values"]).reshape(2, 3)
    assert np.allclose(shares, 100 * atlas.measures.diagonal_share, atol=0.0005)
    chosen = packed(atlas, [], measures=("distance",))[0]["atlas"]["measures"]
    assert [each["name"] for each in chosen] == ["mean distance"]


def test_one_axis_for_both_is_sent_once():
    assert packed(atlas_of(12, 2, 3)[1], [])[0]["atlas"]["keys"] is None


def test_the_identity_is_the_content():
    _, one = atlas_of(12, 2, 3)
    _, same = atlas_of(12, 2, 3)
    assert identity(one) == identity(same)
    changed = one.thumbnails.copy()
    changed[1, 2, 3, 4] += 0.01
    read_otherwise = replace(one, options=MapOptions(words=True))
    assert len({identity(each) for each in (one, replace(one, thumbnails=changed), read_otherwise)}) == 3


def test_the_theme_brings_every_colour():
    _, atlas = atlas_of(9, 1, 2)
    light = packed(atlas, [])[0]["look"]
    dark = read(view_payload(atlas, [], title="t", theme=DARK))[0]["look"]
    assert light["scale"][0] == [0, LIGHT.paper]
    assert light["tint"][0] == [0, LIGHT.paper]
    assert light["tint"][-1][0] == 1
    assert dark["paper"] == DARK.paper
    assert len(set(dark["hues"])) == 8
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b", JS + CSS), "colours come with the message"


def browser_message(monkeypatch, words):
    monkeypatch.setattr(view, "stored", {"v": {"look": words}}.get)


def test_the_state_of_a_view_nobody_touched():
    _, atlas = atlas_of(9, 3, 4)
    state = view.attention_state("v", atlas)
    assert (state.opened, state.heads, state.missing) == ((0, 0), ((0, 0),), ((0, 0),))
    assert (state.cell, state.range, state.message, state.holds_atlas) == (None, None, None, False)
    assert view.attention_state("v", atlas, opened=(2, 3)).missing == ((2, 3),)


def test_what_the_browser_holds_is_not_missing(monkeypatch):
    _, atlas = atlas_of(9, 3, 4)
    words = {
        "identity": identity(atlas),
        "heads": [[1, 2], [2, 3], [0, 1]],
        "maps": [[2, 3], [0, 1, 0, 9, 0, 9], [1, 2, 0, 4, 0, 4]],
        "atlas": True,
        "cell": [1, 2, 8, 0],
        "range": None,
        "complete": False,
        "serial": 4,
    }
    browser_message(monkeypatch, words)
    state = view.attention_state("v", atlas)
    assert state.heads == ((1, 2), (2, 3), (0, 1))
    assert state.missing == ((1, 2),)
    assert state.cell == (1, 2, 8, 0)
    assert state.holds_atlas
    browser_message(monkeypatch, {**words, "range": [0, 4, 0, 4]})
    assert view.attention_state("v", atlas).missing == ((0, 1),)
    browser_message(monkeypatch, {**words, "complete": True})
    assert view.attention_state("v", atlas).missing == ()
    _, other = atlas_of(10, 3, 4)
    state = view.attention_state("v", other)
    assert state.missing == state.heads == ((1, 2), (2, 3), (0, 1))
    assert (state.cell, state.range, state.holds_atlas) == (None, None, False)


def test_heads_that_may_be_opened_next_go_ahead_of_the_click(monkeypatch):
    _, atlas = atlas_of(90, 3, 4)
    assert view.attention_state("v", atlas).ahead == ()  # the first message should be painted soon
    words = {"identity": identity(atlas), "heads": [[1, 2]], "maps": [[1, 2], [1, 3]], "atlas": True}
    browser_message(monkeypatch, words)
    assert view.attention_state("v", atlas).ahead == ((1, 1), (1, 0), (0, 2), (2, 2))
    browser_message(monkeypatch, {**words, "complete": True})
    assert view.attention_state("v", atlas).ahead == ()


@pytest.mark.parametrize("seq", [46, 90, 129, 181, 256, 257, 362, 363, 512, 2000])
def test_what_goes_ahead_is_little(seq):
    cells = seq * seq
    size = cells * map_bits(cells) // 8
    assert maps_sent_ahead(cells) * size <= AHEAD_BYTES
    assert (maps_sent_ahead(cells) == 0) == (3 * size > AHEAD_BYTES)


@pytest.mark.parametrize(
    "words",
    [
        [],
        "heads",
        {"heads": "no", "maps": 3, "cell": [1], "range": [5, 2, 0, 3]},
        {"heads": [[9, 9], [-1, 0], ["0", 0], [0, 0.5], [True, None]], "cell": [0, 0, 99, 0], "range": [0, 99, 0, 1]},
    ],
)
def test_a_state_that_is_no_state_counts_as_none(monkeypatch, words):
    _, atlas = atlas_of(9, 3, 4)
    browser_message(monkeypatch, {**words, "identity": identity(atlas)} if isinstance(words, dict) else words)
    state = view.attention_state("v", atlas)
    assert (state.heads, state.cell, state.range) == (((0, 0),), None, None)


class Elements(HTMLParser):
    """Start tags with their attributes, and the text inside each script and style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.raw, self.open = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open = (tag, dict(attrs).get("id") or dict(attrs).get("type"))

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        self.raw[self.open] = self.raw.get(self.open, "") + data


def test_a_file_lets_nothing_run_but_its_own_code():
    exact, atlas = atlas_of(20, 2, 3)
    message = file_payload(atlas, [], partial(map_of, exact, atlas), title="</script>", theme=LIGHT)
    page = attention_html(message, f"A {EVIL}", "1 < 2 </script>")
    found = Elements(page)
    names = [tag for tag, _ in found.tags]
    assert names.count("script") == 2
    assert "img" not in names
    policy = next(each["content"] for tag, each in found.tags if each.get("http-equiv"))
    script = found.raw[("script", "module")]
    style = found.raw[("style", None)]
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert style.startswith(font_face())  # the same typeface on every machine
    assert "font-src data:;" in policy
    assert base64.b64decode(found.raw[("script", "data")]) == message
    assert EVIL not in page
    assert "http://" not in page
    assert "https://" not in page


def test_a_file_holds_every_head_where_there_is_room():
    exact, atlas = atlas_of(20, 2, 3, side=5)
    message = file_payload(atlas, [], partial(map_of, exact, atlas), title="t", theme=LIGHT)
    header, weights, _ = read(message)
    found, levels = weights(header["atlas"], 0, (2, 3, 20, 20))
    assert_near(found, exact, header["atlas"]["scale"], levels)
    assert np.shape(header["atlas"]["hidden"]) == (6, 20)


def test_a_file_of_a_long_text_holds_the_open_heads():
    exact, atlas = atlas_of(400, 6, 7)

    def open_alone(layer, head):
        pytest.fail(f"layer {layer}, head {head} is not open")

    message = file_payload(atlas, [map_of(exact, atlas, 1, 1)], open_alone, title="t", theme=LIGHT, heads=((1, 1),))
    header, *_ = read(message)
    assert [(each["layer"], each["head"]) for each in header["maps"]] == [(1, 1)]
    assert len(message) < 8_000_000


def test_two_decimals_of_a_weight_are_those_that_cells_show() -> None:
    """0.72501 of a largest 0.9985 would be read as 0.72499."""
    weights = np.append(np.random.default_rng(0).random(20_000) / 2 + 0.3, 0.72501075).astype(np.float32)
    for scale in (0.9985, 0.8127, 1.0):
        read = np.float64(scale) * (codes(weights, scale, 16) / 65_535) ** 2
        hundredths = np.floor(weights.astype(np.float64) * 100 + 0.5)
        np.testing.assert_array_equal(np.floor(read * 100 + 0.5), hundredths)
