"""A figure fitted to its place: computed margins for words, constant plot sizes, small changes on a desktop."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.axes import label_width, plain, token_axis
from bertviz_core.figures.base.export import colour_range, slide_width
from bertviz_core.figures.base.spec import (
    EDGE,
    SMALLEST,
    TOOLS,
    FigureSpec,
    fitted,
    legend_height,
    plot_width,
    write_minus,
)
from bertviz_core.figures.base.style import (
    LIGHT,
    TEXT_SIZE,
    THEMES,
    WIDE,
    WIDTHS,
    Theme,
    colour_bar,
    layout,
    theme_named,
    width_class,
)
from tests.helpers.scales import scale_faults

TITLE = "Hidden states after layer 5, dimensions 0 to 63 of 384 — a-model-with-a-long-name-uncased"
NAMES = ["[CLS]", "the", "cat", "sat", "on", "the", "mat", ".", "[SEP]", "it", "was", "chasing", "##mice", "[SEP]"]
every_width = pytest.mark.parametrize("theme", [theme_named("light", width) for width in WIDTHS], ids=map(str, WIDTHS))


def heatmap(theme: Theme, columns: int = 14) -> go.Figure:
    """A map of tokens with a colour bar, as in the views."""
    names = (NAMES * 20)[:columns]
    figure = go.Figure(layout=layout(theme, TITLE, height=420))
    figure.add_heatmap(z=np.eye(columns), colorbar={"title": {"text": "weight", "side": "right"}})
    figure.update_xaxes(token_axis(names, 860))
    return figure.update_yaxes(token_axis(names, 300), autorange="reversed")


def bars(theme: Theme, count: int) -> go.Figure:
    """Bars with this many names in the legend."""
    figure = go.Figure(layout=layout(theme, "Parameters — tiny", height=420))
    for place in range(count):
        figure.add_bar(x=["a", "b"], y=[1, place], name=f"part of the model {place}")
    return figure


def area(figure: go.Figure) -> float:
    """Height of the plot area."""
    return float(figure.layout.height - figure.layout.margin.t - figure.layout.margin.b)


@every_width
def test_the_lines_of_a_title_fit_and_hold_all_its_words(theme: Theme) -> None:
    figure = fitted(heatmap(theme), theme)
    lines = figure.layout.title.text.split("<br>")
    room = theme.pixels - 2 * EDGE
    widths = [label_width(line, figure.layout.title.font.size) for line in lines]
    assert widths[0] <= room - (0 if theme.narrow else TOOLS)
    assert max(widths) <= room
    assert " ".join(lines) == TITLE


def test_only_the_first_line_of_a_title_leaves_room_for_the_tool_bar() -> None:
    place = theme_named("light", 480)
    title = 'Tokens nearest to "python" by embedding — all-MiniLM-L6-v2'
    lines = fitted(go.Figure(layout=layout(place, title)), place).layout.title.text.split("<br>")
    assert lines == ['Tokens nearest to "python" by', "embedding — all-MiniLM-L6-v2"]


def test_a_title_takes_the_room_of_tools_that_are_not_there() -> None:
    title = "a figure of boxes, from its first row to its last"
    place = theme_named("light", 520)
    for still in (False, True):
        figure = go.Figure(layout=layout(place, title)).update_xaxes(fixedrange=still)
        assert ("<br>" in fitted(figure, place).layout.title.text) is not still


@pytest.mark.sample(6)
@every_width
def test_the_plot_keeps_its_height(theme: Theme) -> None:
    for build in (heatmap, lambda theme: bars(theme, 9)):
        assert area(fitted(build(theme), theme)) == pytest.approx(area(build(theme)), abs=1)


@every_width
@pytest.mark.parametrize("count", [2, 5, 9])
def test_a_legend_has_room_between_title_and_plot(theme: Theme, count: int) -> None:
    figure = fitted(bars(theme, count), theme)
    lines = len(figure.layout.title.text.split("<br>"))
    assert figure.layout.margin.t >= 11 + 1.2 * 18 * lines + legend_height(figure, theme)
    assert legend_height(figure, theme) >= 15 * 1.3


@every_width
def test_a_long_title_of_an_axis_is_no_longer_than_the_axis(theme: Theme) -> None:
    figure = heatmap(theme).update_xaxes(title="multiply-adds of one forward pass of this text (G: billion of them)")
    lines = fitted(figure, theme).layout.xaxis.title.text.split("<br>")
    assert all(label_width(line, 15) <= plot_width(figure, theme) for line in lines)
    assert (len(lines) > 1) is (theme.pixels < 680)


@every_width
def test_a_long_name_in_a_legend_has_lines_and_room_for_them(theme: Theme) -> None:
    figure = bars(theme, 2)
    figure.data[0].name = "newly initialised: normal, mean 0, standard deviation 0.02 of every number"
    lines = fitted(figure, theme).data[0].name.split("<br>")
    assert (len(lines) > 1) is (theme.pixels < 600)
    assert legend_height(figure, theme) >= len(lines) * 15 * 1.3


@pytest.mark.parametrize(
    "words", [["0", "5"], ["0.00", "0.05", "0.10", "≥ 0.15"], [f"{each:,}" for each in range(0, 10**6, 10**5)]]
)
def test_words_of_a_lying_bar_do_not_meet_and_the_last_stays(words: list[str]) -> None:
    phone = theme_named("light", WIDTHS[0])
    figure = go.Figure(layout=layout(phone, "t"))
    bar = {"title": {"text": "standard deviation"}, "tickvals": list(range(len(words))), "ticktext": words}
    (trace,) = fitted(figure.add_heatmap(z=[[0, 1]], colorbar=bar), phone).data
    shown = list(trace.colorbar.ticktext)
    assert shown[-1] == words[-1]
    assert set(shown) <= set(words)
    room = 0.86 * phone.pixels - label_width(trace.colorbar.title.text, 15)
    assert len(shown) == 2 or (len(shown) - 1) * max(label_width(each, 15) for each in shown) <= room


def test_a_legend_of_many_names_stands_in_two_columns_on_a_phone() -> None:
    phone = theme_named("light", WIDTHS[0])
    figure = bars(phone, 8)
    for place, trace in enumerate(figure.data):
        trace.name = f"a part of the model that has a long name {place}"
    drawn = fitted(figure, phone)
    assert drawn.layout.legend.entrywidth == 1 / 2
    assert all(label_width(each.name, 15) <= plot_width(drawn, phone) / 2 for each in drawn.data)
    assert drawn.data[0].name.replace("<br>", " ") == "a part of the model that has a long name 0"


def test_a_legend_of_more_names_or_on_less_room_is_higher() -> None:
    heights = [legend_height(bars(LIGHT, count), LIGHT) for count in (2, 5, 9)]
    assert heights == sorted(set(heights)) or heights[0] == heights[1] < heights[2]
    widths = [legend_height(bars(LIGHT, 5), theme_named("light", width)) for width in WIDTHS]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1]
    assert legend_height(heatmap(LIGHT), LIGHT) == 0


@pytest.mark.sample(22)
@every_width
@pytest.mark.parametrize("columns", [5, 14, 32, 128])
def test_names_of_columns_do_not_meet(theme: Theme, columns: int) -> None:
    figure = fitted(heatmap(theme, columns), theme)
    axis = figure.layout.xaxis
    apart = plot_width(figure, theme) / columns * (axis.tickvals[1] - axis.tickvals[0])
    turned = axis.tickangle == -90
    if theme.pixels < WIDE:
        size = axis.tickfont.size
        assert size >= SMALLEST
        assert (size if turned else max(label_width(name, size) for name in axis.ticktext)) <= apart
    assert set(map(plain, axis.ticktext)) <= {*NAMES} | {text for text in axis.ticktext if "…" in text}


def test_on_a_phone_the_bar_lies_below_names_are_cut_and_a_finger_moves_the_page() -> None:
    phone = theme_named("dark", WIDTHS[0])
    long = go.Figure(layout=layout(phone, "Sentences — tiny", height=300))
    long.add_heatmap(z=np.eye(2), colorbar={"title": {"text": "cosine"}})
    long.update_yaxes(
        token_axis(["The bank raised its rates again  1", "<i>My pet python is asleep today</i>"] * 5, 200)
    )
    figure = fitted(long, phone)
    assert figure.data[0].colorbar.orientation == "h"
    assert figure.layout.dragmode is False
    assert all(label_width(name, 14) <= 0.35 * phone.pixels for name in figure.layout.yaxis.ticktext)
    assert figure.layout.yaxis.ticktext[0].endswith("…  1")


def test_names_of_high_rows_have_two_lines_on_a_phone() -> None:
    phone = theme_named("light", WIDTHS[0])
    shown = {}
    for rows in (3, 12):
        long = go.Figure(layout=layout(phone, "Parameters — tiny", height=300)).add_bar(x=[1] * rows, orientation="h")
        long.update_yaxes(token_axis(["distilbert-base-uncased"] * rows, 400), range=[rows - 0.5, -0.5])
        shown[rows] = fitted(long, phone).layout.yaxis.ticktext[0]
    assert shown[3] == "distilbert-base-<br>uncased"
    assert shown[12].endswith("…")


@pytest.mark.parametrize(
    "ticks", [(-0.0002, 0.0, 0.0002), (0, 0.25, 0.5, 0.75, 1), (1, 10, 100, 1_000, 10_000, 100_000)]
)
def test_words_of_a_lying_bar_stand_upright_clear_of_its_title_and_of_each_other(ticks: tuple[float, ...]) -> None:
    phone = theme_named("light", WIDTHS[1])
    long = go.Figure(layout=layout(phone, "Weights — tiny", height=300))
    words = [f"{tick:,}" for tick in ticks]
    bar = {"title": {"text": "probability"}, "tickvals": list(range(len(ticks))), "ticktext": words}
    long.add_heatmap(z=np.eye(2), zmin=0, zmax=len(ticks) - 1, colorbar=bar)
    figure = fitted(long, phone)
    lying = figure.data[0].colorbar
    assert lying.tickangle == 0
    assert lying.title.font.size == TEXT_SIZE
    assert (lying.ticktext[0], lying.ticktext[-1]) == (words[0], words[-1])
    message, behind = lying.title.text.partition("<")[0], lying.title.text.count("\u00a0")
    assert lying.title.text == lying.title.text.strip()  # plotly removes spaces at the ends
    narrowest = 0.2 * TEXT_SIZE  # a space in Source Sans
    assert message == "probability"
    assert behind * narrowest >= label_width(words[0], TEXT_SIZE) / 2
    steps = (lying.len * plot_width(figure, phone) - label_width(lying.title.text, TEXT_SIZE)) / max(
        len(lying.ticktext) - 1, 1
    )
    assert max(label_width(each, TEXT_SIZE) for each in lying.ticktext) <= steps


def test_on_a_desk_rows_and_cells_stay_as_they_are_drawn_and_a_bar_has_its_short_title_above() -> None:
    plain_figure, figure = heatmap(LIGHT), fitted(heatmap(LIGHT), LIGHT)
    assert figure.layout.yaxis == plain_figure.layout.yaxis
    bar = plain_figure.data[0].colorbar
    assert bar.title.side == "right"
    bar.title.font.size, bar.title.side = TEXT_SIZE, "top"
    assert figure.data == plain_figure.data
    bar.title.text, bar.title.side = "share of all the attention of a row", "right"
    assert fitted(plain_figure, LIGHT).data[0].colorbar.title.side == "right"


@pytest.mark.parametrize(("count", "turned"), [(6, 0), (40, -90)])
def test_on_a_desk_names_of_columns_lie_wherever_they_have_room(count: int, turned: int) -> None:
    assert fitted(heatmap(LIGHT, count), LIGHT).layout.xaxis.tickangle == turned


@pytest.mark.parametrize("theme", [LIGHT, theme_named("light", 480)])
def test_an_axis_says_where_only_every_kth_name_stands_on_it(theme: Theme) -> None:
    few, many = (fitted(heatmap(theme, count), theme).layout.xaxis for count in (10, 280))
    assert few.title.text is None
    step = int(many.tickvals[1] - many.tickvals[0])
    assert many.title.text.replace("<br>", " ") == f"every {step}th is named"
    numbers = heatmap(theme, 280)
    numbers.update_xaxes(ticktext=[str(each) for each in numbers.layout.xaxis.tickvals])
    assert fitted(numbers, theme).layout.xaxis.title.text is None


@pytest.mark.sample(19)
@every_width
@pytest.mark.parametrize("unit", ["weight", "Jensen-Shannon divergence in nats", "share of all the attention of a row"])
def test_the_sentence_of_a_scale_is_the_same_at_every_width(theme: Theme, unit: str) -> None:
    figure = heatmap(theme)
    figure.update_traces(zmin=0, zmax=0.946, colorbar=colour_bar(unit, 0, 0.946))
    drawn = fitted(figure, theme)
    assert colour_range(drawn) == f"{unit}, 0 to 0.946"
    assert not scale_faults(drawn, colour_range(drawn))
    assert scale_faults(drawn, f"{unit}, 0 to 1")
    assert scale_faults(drawn, "")


def test_a_width_serves_all_places_up_to_the_next() -> None:
    assert [width_class(pixels) for pixels in (100, 320, 499.9, 500, 900, 5000)] == [320, 320, 480, 480, 860, 980]
    assert all(theme.pixels == WIDE and not theme.narrow for theme in THEMES.values())
    assert theme_named("dark", 320).narrow
    assert theme_named("dark", 320).colours == theme_named("dark").colours


def test_axes_and_bars_that_count_powers_of_ten_say_so() -> None:
    desk = theme_named("light")
    figure = go.Figure(layout=layout(desk, "t", height=300))
    bar = {"title": {"text": "points"}, "tickvals": [0, 1, 2], "ticktext": ["1", "10", "100"]}
    figure.add_heatmap(z=np.eye(2), zmin=0, zmax=2, colorbar=bar)
    figure.update_xaxes(title="rows", type="log").update_yaxes(title="columns")
    fitted(figure, desk)
    assert figure.layout.xaxis.title.text == "rows, logarithmic"
    assert figure.layout.yaxis.title.text == "columns"
    assert figure.data[0].colorbar.title.text == "points, logarithmic"
    assert colour_range(figure) == "points, 1 to 100, logarithmic"


def test_numbers_under_the_pointer_are_formatted_by_their_axis_or_trace_which_write_a_minus() -> None:
    figure = go.Figure()
    figure.add_heatmap(z=[[-1.0]], hovertemplate="%{customdata}: %{z:.4f}<extra>%{x:,}</extra>")
    figure.add_bar(x=[-1.0], y=["a"], hovertemplate="%{x:.2f}, again %{x:.2f} of %{y}")
    figure.add_bar(x=[-1.0], y=["a"], base=[2.0], hovertemplate="%{x:.2f}")
    figure.add_sunburst(labels=["a"], hovertemplate="%{value:.1f}")
    write_minus(figure)
    cells, bars, based, rings = figure.data
    assert (cells.zhoverformat, cells.hovertemplate) == (".4f", "%{customdata}: %{z}<extra>%{x:,}</extra>")
    assert (bars.xhoverformat, bars.hovertemplate) == (".2f", "%{x}, again %{x} of %{y}")
    assert based.hovertemplate == "%{x:.2f}"  # otherwise its label would be the end of the bar
    assert rings.hovertemplate == "%{value:.1f}"


def test_a_figure_fills_its_place_as_far_as_its_rows_allow() -> None:
    def drawn(theme: Theme) -> go.Figure:
        return go.Figure(layout=layout(theme, TITLE, height=500))

    own = FigureSpec(TITLE, "", drawn).drawn(LIGHT).layout.height
    for place, expected in ((own + 50, own + 50), (200, 0.85 * own), (2_000, 1.5 * own)):
        figure = FigureSpec(TITLE, "", drawn).drawn(replace(LIGHT, tall=place))
        assert figure.layout.height == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(
    ("high", "wraps_below", "wide"), [(150, 0, 680), (150, 800, 860), (150, 900, None), (420, 0, None)]
)
def test_a_flat_figure_is_larger_on_a_slide_unless_it_were_higher_there(
    high: int, wraps_below: int, wide: int | None
) -> None:
    def drawn(theme: Theme) -> go.Figure:
        return go.Figure(layout=layout(theme, TITLE, height=high * (2 if theme.pixels < wraps_below else 1)))

    figure = FigureSpec(TITLE, "", drawn).drawn(LIGHT.on_slide(480))
    assert figure.layout.width == wide
    assert slide_width(figure, 480) == round(1000 * (wide or WIDE) / WIDE)
    assert figure.layout.height * WIDE / (wide or WIDE) <= 480
