"""The view Long text of Sentences: a text of its own, its shares and chunks, and a file.

Covers `bertviz_core/questions/views/vectors/chunks.py`.
"""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.questions.texts.chunks import EXAMPLE, EXAMPLE_QUERY
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.charts import sent_charts
from tests.pages.opened import opened, visible_text
from ui.widgets import run_model as answers

TEXT = "The bees leave the hive. They gather nectar. A bridge spans the river. It is made of steel."


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


def said_by(at: AppTest) -> str:
    return visible_text(" ".join(each.value for each in [*at.markdown, *at.caption, *at.info, *at.error]))


def bars(at: AppTest) -> float:
    figure = sent_charts(at)[0].figure
    return float(sum(np.sum(trace["y"]) for trace in figure["data"] if trace["type"] == "bar"))


def test_the_example_is_longer_than_the_model_reads() -> None:
    at = opened("sentences", view="Long text")
    assert not at.exception
    assert not at.error
    assert at.text_area(key="long_text").value == EXAMPLE
    assert at.text_input(key="chunk_query").value == EXAMPLE_QUERY
    assert bars(at) == pytest.approx(1, abs=1e-5)
    result = open_model(DEFAULT_MODEL).chunks(EXAMPLE, query=EXAMPLE_QUERY)
    assert f"{result.shares.cut} tokens at the end of the text have no share" in said_by(at)
    frame = at.dataframe[0].value
    np.testing.assert_allclose(frame["both"], result.data.cosines, atol=1e-6)
    assert frame["rank late"].tolist() == result.data.late_ranks.tolist()
    assert len(frame) > 2
    assert f"Chunk {result.data.moved + 1} moved most" in said_by(at)


def test_another_text_has_a_query_of_its_own() -> None:
    at = opened("sentences", view="Long text")
    at.text_area(key="long_text").set_value(TEXT).run()
    assert not at.error
    assert at.text_input(key="chunk_query").value == "The bees leave the hive."
    at.text_input(key="chunk_query").set_value("steel").run()
    at.slider(key="chunk_tokens").set_value(12).run()
    assert not at.exception
    result = open_model(DEFAULT_MODEL).chunks(TEXT, tokens=12, query="steel")
    np.testing.assert_allclose(at.dataframe[0].value["late"], result.data.late_scores, atol=1e-6)
    at.text_area(key="long_text").set_value("  ").run()
    assert "The text is empty" in said_by(at)
    at.text_area(key="long_text").set_value("dog").run()
    assert "single token" in said_by(at)


def test_a_file_is_read_whole() -> None:
    at = opened("sentences", view="Long text", long_from="file")
    assert at.info
    at.file_uploader[0].upload("text.txt", f"{TEXT}\n\n{TEXT}".encode(), "text/plain")
    at.run()
    assert not at.exception
    assert not at.error
    assert bars(at) == pytest.approx(1, abs=1e-5)
    at.file_uploader[0].upload("text.txt", b"\xff\xfe\x00", "text/plain")
    at.run()
    assert at.error
    assert not at.exception


def test_the_list_stays_for_the_other_views() -> None:
    at = opened("sentences", view="Similarity")
    assert at.text_area(key="sentences").value
    assert "8 sentences on" in said_by(at)
