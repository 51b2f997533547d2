"""The view Rank, the command `rank` and the method of the library give the same numbers; refusals are one sentence.

Covers `bertviz_core/questions/views/sentences.py`, `bertviz_core/figures/sentences/ranking.py`,
`bertviz_core/api/model.py`, `bertviz_core/api/results/answers.py`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.cli.app import main
from bertviz_core.errors import BertvizError
from bertviz_core.figures.sentences.ranking import moved_words, rise_text
from bertviz_core.predictions.results import Ranking
from bertviz_core.text import decimals
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.labels import NAMES, named
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import Printed, chart, check_view, close, printed

QUERY = "the river bank"
TEXTS = ("I love my pet python.", "the bank", "a river, my river", "pets love a bank")


pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture(autouse=True)
def saved(models_dir: Path) -> Path:
    save_tiny_head("bert", "sequence-classification", models_dir / "reranker", num_labels=1)
    save_tiny_head("bert", "sequence-classification", models_dir / "nli", **named(*NAMES))
    return models_dir


def page(model: str, **query: str) -> AppTest:
    inputs = {"sentences": "\n".join(TEXTS), "query_sentence": QUERY, **query}
    return opened("sentences", view="Rank", model=model, **inputs)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "label"), [("reranker", None), ("nli", "neutral")])
def test_page_library_code_and_figure_show_one_ranking(model: str, label: str | None, saved: Path) -> None:
    expected = open_model(saved / model).rank(QUERY, TEXTS, label=label)
    at = page(model, sentences_ranking_explained="true", **({} if label is None else {"label": label}))
    assert not at.exception
    assert not at.error
    order = expected.order
    frame = at.dataframe[-1].value
    np.testing.assert_allclose(frame["score"], expected.scores[order], atol=1e-6)
    np.testing.assert_allclose(frame["cosine"], expected.data.cosines[order], atol=1e-6)
    np.testing.assert_allclose(frame["logit"], expected.logits[order], atol=1e-6)
    assert frame["text"].tolist() == [TEXTS[index] for index in order]
    traces = chart(at, "sentences_ranking")
    np.testing.assert_allclose(traces[0]["x"], expected.scores[order], atol=1e-6)
    logits = next(trace["text"] for trace in traces if trace.get("xaxis") == "x3")
    assert logits == [decimals(float(expected.logits[index]), 2) for index in order]
    assert all(f"logit {word}, score" in name for word, name in zip(logits, traces[0]["customdata"], strict=True))
    ends = [list(trace["y"]) for trace in traces if trace.get("mode") == "lines"]
    assert ends == [[row, expected.data.cosine_rank[index] - 1] for row, index in enumerate(order)]
    assert any(moved_words(expected.data) in visible_text(each.value) for each in at.markdown)
    values = printed(at.code[-1].value)
    np.testing.assert_array_equal(values[0], order)
    np.testing.assert_allclose(values[1], expected.scores, atol=1e-6)


@pytest.mark.slow
def test_the_code_of_the_view_gives_its_numbers() -> None:
    def ranking(at: AppTest, values: Printed) -> None:
        frame = at.dataframe[-1].value
        assert [each + 1 for each in values[0]] == frame["number"].tolist()
        close(values[1][values[0]], frame["score"])

    check_view("sentences", "nli", {"sentences_ranking": ranking}, view="Rank")


def test_the_open_text_has_links_to_words_and_pairs() -> None:
    at = page("reranker", ranked_text="2")
    (data,) = [each.proto.json for each in at.get("bidi_component") if "sentences_ranking_open" in each.proto.id]
    words, pairs = (each["address"] for each in json.loads(data)["links"])
    assert words.startswith("words?model=reranker&text=the+river+bank&pair=")
    assert pairs.startswith("words?model=all-MiniLM-L6-v2&view=Pairs&text=the+river+bank&pair=")


@pytest.mark.slow
def test_the_command_prints_the_ranking(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bertviz_core", "rank", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), *capsys.readouterr()

    name = str(saved / "reranker")
    (saved / "texts.txt").write_text("\n".join(TEXTS))
    code, out, _ = run(name, QUERY, "--file", str(saved / "texts.txt"), "--json")
    expected = open_model(name).rank(QUERY, TEXTS)
    assert code == 0
    assert json.loads(out) == expected.to_json()
    assert [each["row"] for each in json.loads(out)["scores"]] == expected.order.tolist()
    assert "by cosine" in run(name, QUERY, *TEXTS)[1]
    for words, message in (
        ((name, QUERY), "texts or a --file"),
        ((name, " ", "a"), "query is empty"),
        ((name, QUERY, "a", "--column", "c"), "no --file"),
        (("all-MiniLM-L6-v2", QUERY, "a"), "no such head"),
    ):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_a_model_without_the_head_ranks_by_late_interaction_and_says_why() -> None:
    at = page("all-MiniLM-L6-v2")
    assert any("has no such head, so late interaction" in visible_text(each.value) for each in at.caption)
    made = open_model("all-MiniLM-L6-v2").rank(QUERY, TEXTS, ranked_by="late interaction")
    scores = [float(row["score"]) for row in at.dataframe[0].value.to_dict("records")]
    assert scores == pytest.approx(sorted(made.scores, reverse=True), abs=1e-5)
    with pytest.raises(BertvizError, match="choose a cross-encoder"):
        open_model("all-MiniLM-L6-v2").rank(QUERY, TEXTS)


def test_what_moved_is_counted() -> None:
    scores, cosines = (np.array(each, dtype=np.float32) for each in ([3, 1, 2], [1, 2, 3]))
    ranking = Ranking("one", "other", "q", ("a", "b", "c"), "", "logit", scores, scores, cosines, 0)
    assert ranking.rise.tolist() == [2, -1, -1]
    assert [rise_text(rise) for rise in (2, -1, 0)] == ["▲ 2", "▼ 1", "="]
    assert moved_words(ranking) == (
        "3 of 3 texts have another place than by the cosine; of all, text 1 rises most, from 3 to 1."
    )
