"""Legible colours, and figures independent of plotly's default template."""

import re
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
import pytest
import streamlit  # noqa: F401  it changes plotly's default template

from bertviz_core.checkpoints.load_report.results import ComponentShare
from bertviz_core.figures.architecture.layers import model_stack
from bertviz_core.figures.base.style import (
    FAMILY,
    FONT,
    INPUT_COLOURS,
    LIGHT,
    PRINT,
    THEMES,
    Theme,
    diverging,
    sequential,
    text_on,
    theme_named,
    words,
)
from bertviz_core.figures.checkpoints.load_report import share_bars
from bertviz_core.figures.hidden_states.lines import embedding_norms
from bertviz_core.figures.parameters import LAYER_PARTS, TreeForm, layer_bars, model_bars, parameter_tree_figure
from tests.helpers.hand_made import PLAIN_LAYERS, TREE, architecture, layer, ledger, parameter

READABLE = 4.5
ROWS = (parameter("embeddings.word_embeddings.weight", (97, 38), "embeddings"),)
BUILDERS: dict[str, Callable[[Theme], go.Figure]] = {
    "sunburst": lambda theme: parameter_tree_figure(TREE, "Tree", "sunburst", theme),
    "treemap": lambda theme: parameter_tree_figure(TREE, "Tree", "treemap", theme),
    "icicle": lambda theme: parameter_tree_figure(TREE, "Tree", "icicle", theme),
    "layers": lambda theme: layer_bars(ledger("tiny"), "Layers", theme),
    "models": lambda theme: model_bars([ledger("tiny", embeddings=83)], "Models", theme),
    "stack": lambda theme: model_stack(architecture(), ledger("tiny", PLAIN_LAYERS, ROWS, embeddings=3_686), theme),
}
every_figure = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS.keys())
every_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


def luminance(colour: str) -> float:
    """Relative luminance of #RRGGBB (WCAG 2.2)."""
    assert len(colour) == 7
    total = 0.0
    for weight, channel in zip((0.2126, 0.7152, 0.0722), bytes.fromhex(colour[1:]), strict=True):
        share = channel / 255
        total += weight * (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)
    return total


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_every_typeface_is_a_name_that_a_style_sheet_reads_without_quotes() -> None:
    words = FONT.replace(",", " ").split()
    assert words[:2] == FAMILY.split()
    assert all(re.fullmatch(r"[A-Za-z][\w-]*", word) for word in words)


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)


@every_theme
def test_words_on_every_colour_can_be_read(theme: Theme) -> None:
    for name, colour in {**theme.colours, "neutral": theme.neutral}.items():
        assert contrast(colour, text_on(colour)) >= READABLE, f"{text_on(colour)} on {name} {colour}"


@every_theme
def test_words_on_the_page_can_be_read(theme: Theme) -> None:
    assert contrast(theme.text, theme.paper) >= READABLE
    assert contrast(theme.muted, theme.paper) >= READABLE


@pytest.mark.parametrize(
    ("colour", "bright"), [("#000000", True), ("#003300", True), ("#FFFFFF", False), ("#FFFF00", False)]
)
def test_dark_ground_has_bright_words_and_the_other_way_round(colour: str, bright: bool) -> None:
    assert (luminance(text_on(colour)) > 0.5) is bright


@every_theme
@pytest.mark.parametrize("form", ["sunburst", "treemap", "icicle"])
def test_words_in_drawn_sectors_can_be_read(form: TreeForm, theme: Theme) -> None:
    trace, *_ = parameter_tree_figure(TREE, "Tree", form, theme).data
    assert len(trace.textfont.color) == len(trace.marker.colors) == len(TREE)
    for colour, words_colour in zip(trace.marker.colors, trace.textfont.color, strict=True):
        assert contrast(colour, words_colour) >= READABLE


@pytest.mark.sample(11)
@every_figure
@every_theme
def test_a_figure_is_the_same_whatever_plotlys_default_template(
    build: Callable[[Theme], go.Figure], theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    for default in ("streamlit", "plotly_dark", "none"):
        monkeypatch.setattr(pio.templates, "default", default)
        drawn.append(build(theme).to_json())
    assert drawn[0] == drawn[1] == drawn[2]
    assert "#000001" not in drawn[0]


@every_figure
@every_theme
def test_a_figure_says_its_own_ground_and_words(build: Callable[[Theme], go.Figure], theme: Theme) -> None:
    layout = build(theme).layout
    assert layout.template is not None
    assert (layout.paper_bgcolor, layout.plot_bgcolor, layout.font.color) == (theme.paper, theme.paper, theme.text)
    assert layout.font.family
    assert layout.title.text


@every_figure
def test_a_figure_leaves_its_results_and_theme_as_they_were(build: Callable[[Theme], go.Figure]) -> None:
    assert build(LIGHT).to_json() == build(LIGHT).to_json()


def test_all_themes_know_the_same_colours() -> None:
    assert len({frozenset(theme.colours) for theme in THEMES.values()}) == 1
    assert list(THEMES) == ["light", "dark", "print"]
    assert all(name == theme.name for name, theme in THEMES.items())


def test_an_unknown_theme_is_the_light_one() -> None:
    assert theme_named("dark") is THEMES["dark"]
    assert theme_named("sepia") is theme_named("") is LIGHT


def test_every_part_has_a_colour_and_words_without_underscores() -> None:
    parts = set(layer("encoder", 0, 1, *range(9)).__slots__) - {"component", "layer", "total", "applications"}
    assert len(parts) == 9
    for part in parts:
        assert part in LIGHT.colours
        assert "_" not in words(part)


def greys(scale: list[list[float | str]]) -> list[float]:
    """Grey levels of a scale."""
    return [luminance(str(colour)) for _, colour in scale]


def test_print_is_black_on_white() -> None:
    assert (PRINT.paper, PRINT.text) == ("#FFFFFF", "#000000")


@pytest.mark.parametrize("build", [sequential, diverging])
def test_scales_in_print_go_one_way_in_grey(build: Callable[[Theme], list[list[float | str]]]) -> None:
    found = greys(build(PRINT))
    assert found in (sorted(found), sorted(found, reverse=True))
    assert contrast(str(build(PRINT)[0][1]), str(build(PRINT)[-1][1])) > 7


@every_theme
def test_a_scale_of_counts_begins_at_the_paper_and_leaves_it(theme: Theme) -> None:
    steps = [str(colour) for _, colour in sequential(theme)]
    assert steps[0] == theme.paper
    away = [contrast(theme.paper, step) for step in steps]
    assert away == sorted(away)


@pytest.mark.parametrize(
    "stack",
    [
        [part for part in LAYER_PARTS if part != "query_key_value" and part != "attention_other"],
        ["query_key_value", "attention_output", "attention_other", "feed_forward", "layer_norm", "other"],
        ["embeddings", "feed_forward", "pooler", "task head"],
        ["embeddings", "encoder", "pooler", "task head"],
        ["feed_forward", "decoder"],
    ],
)
def test_neighbours_in_print_differ_in_grey(stack: list[str]) -> None:
    for one, other in zip(stack, stack[1:], strict=False):
        assert contrast(PRINT.colours[one], PRINT.colours[other]) > 1.3, (one, other)


def bar_colours(figure: go.Figure) -> dict[str, str]:
    """Name -> colour of every bar."""
    found = {}
    for trace in figure.data:
        colour = trace.marker.color
        found[trace.name] = colour if isinstance(colour, str) else colour[0]
    return found


@every_theme
def test_a_component_has_one_colour_in_every_figure(theme: Theme) -> None:
    tree = parameter_tree_figure(TREE, "Tree", "sunburst", theme)
    in_tree = dict(zip(tree.data[0].ids, tree.data[0].marker.colors, strict=True))
    several = ledger("tiny", PLAIN_LAYERS, ROWS, embeddings=3_686)
    bars = bar_colours(model_bars([several], "Models", theme))
    shares = share_bars([ComponentShare(name, 5, 0, 0, 0, 0) for name in ("embeddings", "encoder")], "Report", theme)
    assert set(bars.values()) <= {theme.colours[name] for name in bars}
    assert bars["encoder"] == theme.colours["encoder"] == shares.data[0].marker.color[1]
    assert theme.colours["encoder"] in in_tree.values()


@every_theme
def test_no_part_of_the_input_has_another_parts_colour(theme: Theme) -> None:
    lengths = {name: np.ones(2, np.float32) for name in INPUT_COLOURS}
    found = bar_colours(embedding_norms(lengths, ["a", "b"], None, "t", theme))
    assert found["word"] == theme.colours["embeddings"]
    assert found["after layer norm"] == theme.colours["layer_norm"]
    foreign = {theme.colours[part] for part in theme.colours if part not in ("embeddings", "layer_norm")}
    assert not foreign & set(found.values())
    assert len(set(found.values())) == len(found)
