"""The picture of the module tree has the lines of print(model), the ledger's counts, and no text on another."""

import re
from dataclasses import replace

import pytest

from bertviz_core.architecture.module_tree import module_tree
from bertviz_core.architecture.results import ModuleTree
from bertviz_core.figures.architecture.modules import MOST_ROWS, module_picture, modules_figure
from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.style import TEXT_SIZE, THEMES, WIDTHS
from bertviz_core.models.catalog import find
from bertviz_core.parameters.ledger import config_ledger
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED
from tests.helpers.model_faces import config_of

LIGHT = THEMES["light"]


def tree(name: str = "bert-base-uncased", fold: bool = True) -> ModuleTree:
    entry = find(name)
    assert entry is not None
    return module_tree(name, entry.config, fold=fold)


def columns(drawn: ModuleTree, levels: int, pixels: int) -> list[list[tuple[float, float, str]]]:
    """(left end, right end, text) of every text of each column."""
    figure = module_picture(drawn, None, levels, "tree", replace(LIGHT, pixels=pixels))
    spans = []
    for trace in figure.data:
        plain = [re.sub(r"</?b>", "", text) for text in trace.text]
        wide = [text_width(text, TEXT_SIZE) for text in plain]
        side = {"middle right": (0, 1), "middle left": (-1, 0)}[trace.textposition]
        ends = zip(trace.x, wide, plain, strict=True)
        spans.append([(x + side[0] * width, x + side[1] * width, text) for x, width, text in ends])
    return spans


@pytest.mark.parametrize("model_type", ["bert", "t5", "gpt2", "modernbert", "deberta-v2"])
@pytest.mark.parametrize("pixels", WIDTHS)
def test_no_text_lies_on_another_at_any_width(model_type: str, pixels: int) -> None:
    for levels in (2, 9):
        names, *numbers = columns(module_tree(model_type, config_of(model_type)), levels, pixels)
        for column, beside in zip([names, *numbers], numbers, strict=False):
            for (_, end, text), (start, _, other) in zip(column, beside, strict=True):
                assert not other or end <= start, (text, other)
        assert all(start >= 0 for start, _, _ in names)


def test_the_lines_are_those_of_the_model_and_the_counts_those_of_the_ledger() -> None:
    entry = find("bert-base-uncased")
    assert entry is not None
    names, counts, *_ = columns(tree(), 1, WIDTHS[-1])
    ledger = {part.name: part.total for part in config_ledger("bert-base-uncased", entry.config).components}
    shown = dict(zip((text for *_, text in names), (text for *_, text in counts), strict=True))
    assert shown == {
        "module": "parameters",
        "BertModel": "109,482,240",
        "(embeddings): BertEmbeddings(…)": f"{ledger['embeddings']:,}",
        "(encoder): BertEncoder(…)": f"{ledger['encoder']:,}",
        "(pooler): BertPooler(…)": f"{ledger['pooler']:,}",
    }


@pytest.mark.parametrize(("fold", "last"), [(True, 6), (False, 3)])
def test_of_many_rows_the_deep_ones_are_folded(fold: bool, last: int) -> None:
    whole = tree(fold=fold)
    assert len(whole.rows) > MOST_ROWS or fold
    names, *_ = columns(whole, 9, WIDTHS[-1])
    fitting = [row for row in whole.rows if row.depth <= last]
    assert len(names) - 1 == len(fitting) <= MOST_ROWS
    assert sum("(…)" in text for *_, text in names) == sum(
        row.depth == last and any(each.parent == row.id for each in whole.rows) for row in whole.rows
    )


def test_names_are_escaped_and_the_description_has_the_parts() -> None:
    hostile = replace(tree(), model=ACTIVE)
    spec = modules_figure(hostile, None, 1)
    assert spec.drawn(LIGHT).layout.title.text == f"Modules of {ACTIVE_ESCAPED}"
    assert "embeddings (BertEmbeddings, 23,837,184 parameters)" in spec.alt
    rows = tuple(replace(row, name=ACTIVE, class_name=ACTIVE, head=ACTIVE) for row in hostile.rows)
    texts = "".join(
        text for trace in modules_figure(replace(hostile, rows=rows), None, 9).drawn(LIGHT).data for text in trace.text
    )
    assert ACTIVE not in texts
