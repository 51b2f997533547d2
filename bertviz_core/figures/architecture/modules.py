"""Draw the tree of a model's modules as its class is printed, with parameters and shapes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from bertviz_core.architecture.results import ModuleRow, ModuleShape, ModuleTree, Shape, ShapeRun
from bertviz_core.figures.architecture.drawing import BOLD, Drawing, Edges
from bertviz_core.figures.base.axes import shortened_label, text_width
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape
from bertviz_core.lazy_imports import pandas as pd

MOST_ROWS = 40
"""Rows above which deeper levels are folded, so that a slide of them can be read."""
EDGE, ROW, INDENT, SQUARE, GAP = 8.0, 22.0, 18.0, 9.0, 16.0
"""Pixels: before the first column, height of a row, indentation of a level, a mark of a colour, between columns."""
BAR, SHARE = 70.0, 56.0
"""Pixels of a bar, and of the share behind it."""
PARAMETERS, SHAPES = "parameters", "shape in \u2192 shape out"
"""Headings of the columns."""
LAST_KEYWORD = re.compile(r", \w+=[^,()]+\)$")
"""The last argument of a class, such as the bias of a linear layer, which is left out where the whole does not fit."""
LABELS = 0.4
"""Least share of the width for the names; what does not fit beside it is left out, shapes first."""


def shape_text(shape: Shape | None) -> str:
    """A shape as PyTorch prints it."""
    return "()" if not shape else f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def shaped(row: ModuleRow, shapes: ShapeRun | None) -> ModuleShape | None:
    """What passes a module in the run; None where the run does not call it, or there is none."""
    return shapes.modules.get(row.paths[0]) if shapes else None


def passed_text(passed: ModuleShape | None) -> str:
    """The shape of the first input and of the last output; "" without any."""
    first = passed.inputs[0][1] if passed and passed.inputs else None
    last = passed.outputs[0] if passed and passed.outputs else None
    often = f"  × {passed.calls} calls" if passed and passed.calls > 1 else ""
    return f"{shape_text(first)} \u2192 {shape_text(last)}{often}" if first or last else ""


def inputs_text(passed: ModuleShape | None) -> str:
    """Names and shapes of the inputs of a module."""
    return ", ".join(f"{name} {shape_text(shape)}".strip() for name, shape in passed.inputs) if passed else ""


def count_text(row: ModuleRow) -> str:
    """The parameters of a row, those of equal modules as a product; those counted elsewhere, or "" for none."""
    times = len(row.paths)
    count = f"{row.numel:,}" if times == 1 or row.numel % times else f"{times} × {row.numel // times:,}"
    return count if row.numel else "tied" if any(each.tied_to for each in row.weights) else ""


def share_text(row: ModuleRow, tree: ModuleTree) -> str:
    """The share of a row in the parameters of the model."""
    return f"{row.numel / tree.total:.1%}" if tree.total else ""


def weights_text(row: ModuleRow) -> str:
    """The weights of a module itself, with their shapes."""
    tied = ((each, f" tied to {each.tied_to}" if each.tied_to else "") for each in row.weights)
    return ", ".join(f"{each.name} {shape_text(each.shape)}{note}" for each, note in tied)


def module_frame(module_tree: ModuleTree, module_shapes: ShapeRun | None) -> "pd.DataFrame":
    """All rows as a table."""
    passed = [shaped(row, module_shapes) for row in module_tree.rows]
    return pd.DataFrame(
        {
            "module": [row.id or module_tree.architecture for row in module_tree.rows],
            "class": [row.class_name for row in module_tree.rows],
            "times": [len(row.paths) for row in module_tree.rows],
            "parameters": [row.numel for row in module_tree.rows],
            "share": [share_text(row, module_tree) for row in module_tree.rows],
            "own weights": [weights_text(row) for row in module_tree.rows],
            "input shape": [inputs_text(each) for each in passed],
            "output shape": [", ".join(map(shape_text, each.outputs)) if each else "" for each in passed],
            "calls": [each.calls if each else 0 for each in passed],
        }
    )


def drawn_rows(tree: ModuleTree, levels: int) -> tuple[ModuleRow, ...]:
    """The rows of as many levels as fit, at most those asked for; of more modules at the first level the first."""
    rows = tuple(row for row in tree.rows if row.depth <= levels)
    return drawn_rows(tree, levels - 1) if len(rows) > MOST_ROWS and levels > 1 else rows[:MOST_ROWS]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Right edge of the counts, of the shares, and left edge of the shapes, in pixels; 0 for a column left out."""

    counts: float
    shares: float
    shapes: float


def module_picture(tree: ModuleTree, shapes: ShapeRun | None, levels: int, title: str, theme: Theme) -> go.Figure:
    """Draw a line for each module: its name and class, its parameters, and the shapes that pass it."""
    drawing, rows = Drawing(theme), drawn_rows(tree, levels)
    passed = [passed_text(shaped(row, shapes)) for row in rows]
    numbers = _width([PARAMETERS, *map(count_text, rows)])
    at = _columns(drawing.width, numbers, _width([SHAPES, *passed]) if any(passed) else 0.0)
    inside, marks, labels = {row.parent for row in rows}, [], []
    for place, row in enumerate(rows, start=1):
        left, top = EDGE + row.depth * INDENT * (0.5 if theme.narrow else 1.0), place * ROW
        colour = theme.colours[row.part] if row.part else theme.muted
        if row.part:
            drawing.cells([(left, top + (ROW - SQUARE) / 2, left + SQUARE, top + (ROW + SQUARE) / 2)], colour)
        if at.shares and row.numel:
            _bar(
                drawing,
                (at.counts + GAP, top + 7, at.counts + GAP + BAR, top + ROW - 7),
                row.numel / tree.total,
                colour,
            )
        folded = row.id not in inside and any(each.parent == row.id for each in tree.rows)
        marks.append(left + SQUARE + 6)
        labels.append(_label(row, folded, at.counts - text_width(count_text(row), TEXT_SIZE) - GAP - marks[-1]))
    figure = drawing.figure(escape(title), (len(rows) + 1) * ROW)
    columns = [
        ([EDGE, *marks], ["<b>module</b>", *labels], "middle right"),
        (at.counts, [f"<b>{PARAMETERS}</b>", *map(count_text, rows)], "middle left"),
    ]
    if at.shares:
        shares = [share_text(row, tree) if row.numel else "" for row in rows]
        columns.append((at.shares, ["<b>share</b>", *shares], "middle left"))
    if at.shapes:
        columns.append((at.shapes, [f"<b>{SHAPES}</b>", *passed], "middle right"))
    places = [(place + 0.5) * ROW for place in range(len(rows) + 1)]
    for x, texts, side in columns:
        figure.add_scatter(
            x=x if isinstance(x, list) else [x] * len(places), y=places, text=texts, textposition=side, mode="text",
            textfont={"size": TEXT_SIZE, "color": theme.text}, hoverinfo="skip", showlegend=False, cliponaxis=False,
        )  # fmt: skip
    return figure


def _columns(width: float, numbers: float, shapes: float) -> _Columns:
    """Places of the columns: the shapes are left out where the names had too little room, then the shares."""
    room, bars = width * (1 - LABELS) - numbers, BAR + SHARE + GAP
    shapes = shapes + GAP if shapes and shapes + GAP + bars <= room else 0.0
    bars = bars if bars + shapes <= room else 0.0
    counts = width - shapes - bars
    return _Columns(counts, counts + bars if bars else 0.0, width - shapes + GAP if shapes else 0.0)


def _bar(drawing: Drawing, at: Edges, share: float, colour: str) -> None:
    left, top, right, bottom = at
    drawing.cells([at], drawing.theme.grid)
    drawing.cells([(left, top, left + max((right - left) * share, 1.0), bottom)], colour)


def _width(texts: Sequence[str]) -> float:
    """Width of a column in pixels, whose heading, the first, is bold."""
    return max(BOLD * text_width(texts[0], TEXT_SIZE), *(text_width(each, TEXT_SIZE) for each in texts))


def _label(row: ModuleRow, folded: bool, room: float) -> str:
    """Name, repeats and class with its sizes, or as much of that as fits."""
    times = f"{row.repeats} x " if row.repeats > 1 else ""
    name, more = f"({row.name}): " if row.name else "", "(…)" if folded else ""
    before = text_width(name + more, TEXT_SIZE) + BOLD * text_width(times, TEXT_SIZE)
    without_last = LAST_KEYWORD.sub(", …)", row.head)
    for words in (row.class_name if row.closes else row.head, without_last, row.class_name):
        if before + text_width(words, TEXT_SIZE) <= room:
            return f"{escape(name)}<b>{escape(times)}</b>{escape(words)}{more}"
    before = BOLD * text_width(f"() {times}", TEXT_SIZE)
    name = shortened_label(escape(row.name or row.class_name), room - before, TEXT_SIZE)
    return f"({name}) <b>{escape(times)}</b>" if row.name else name


@figure("modules", "architecture_modules", reported=True, table=module_frame)
def modules_figure(module_tree: ModuleTree, module_shapes: ShapeRun | None, module_levels: int) -> FigureSpec:
    """The tree of modules, as far as it is unfolded, with parameters and shapes (--task)."""
    title = f"Modules of {module_tree.model}"
    top = [row for row in module_tree.rows if row.depth == 1]
    listed = ", ".join(f"{row.name} ({row.class_name}, {row.numel:,} parameters)" for row in top[:MOST_ROWS])
    alt = f"{title}, a {module_tree.architecture} of {module_tree.total:,} parameters: {listed}"
    caption = f"{title}: {module_tree.architecture}, {module_tree.total:,} parameters."
    return FigureSpec.of(title, alt, caption, module_picture, module_tree, module_shapes, module_levels)
