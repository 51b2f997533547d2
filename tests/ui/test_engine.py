"""Declared views on a page: a click selects, a value that is not there is not chosen, a typed word has no blanks."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest


def controls_page() -> None:
    import streamlit as st

    from bertviz_core.figures.base.spec import FigureSpec
    from bertviz_core.questions.parameters import Options, Param
    from bertviz_core.questions.view import Click, Figure, Section, Text
    from ui.cache.shared_model import SharedModel
    from ui.engine import draw_parts, take_click

    modules = ("", "embeddings", "embeddings.word", "pooler.dense")
    module = Param("module", "choice", "a module", label="Module", values=lambda opened, options: modules)
    search = Param("search", "text", "part of a name", label="Search")
    click = Click(module, lambda point: "" if point["id"] == "model" else point["id"])
    spec = FigureSpec("title", "alt", lambda theme: None, chart="chart")
    take_click(Figure(spec=spec, file="", click=click))

    def shown(opened: object, ask: object, options: Options) -> list[Text]:
        return [Text(f"module {options.get('module')}"), Text(f"search [{options.get('search')}]")]

    model = SharedModel("all-MiniLM-L6-v2")
    draw_parts([Section((module, search), shown)], model, lambda question, options: None, Options())
    st.text(st.session_state["module"])


def event(module: str) -> dict[str, Any]:
    return {"point": {"id": module, "customdata": None, "curve_number": 0}}


@pytest.mark.parametrize(
    ("chart", "module", "expected"),
    [
        (None, "embeddings", "embeddings"),
        ({"point": None}, "embeddings", "embeddings"),
        (event("pooler.dense"), "embeddings", "pooler.dense"),
        (event("model"), "embeddings", ""),
        (None, "encoder.layer.17", ""),
    ],
    ids=["no chart", "nothing clicked", "a module", "the centre", "a module that is not there"],
)
def test_a_click_selects_its_module_and_the_centre_the_whole(chart: Any, module: str, expected: str) -> None:
    at = AppTest.from_function(controls_page, default_timeout=60)
    at.session_state["chart"], at.session_state["module"], at.session_state["search"] = chart, module, "  query "
    at.run()
    assert not at.exception
    assert [line.value for line in at.markdown] == [f"module {expected}".strip(), "search [query]"]
    assert at.text[0].value == expected
