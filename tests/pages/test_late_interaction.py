"""The view Late interaction, Rank by it, command, library and their refusals show the same numbers and sentences.

Covers `bertviz_core/questions/views/sentences.py`, `bertviz_core/figures/sentences/ranking.py`,
`bertviz_core/questions/predictions/ranking.py`.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from sentence_transformers import MultiVectorEncoder
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.cli.app import main
from bertviz_core.errors import BertvizError
from tests.helpers.multi_vector import change, save_multi_vector, save_pylate, save_stanford
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import chart, printed
from tests.ui.widgets.target_controls.test_row import kinds

QUERY = "the river bank"
TEXTS = ("I love my pet python.", "the bank", "a river, my river", "pets love a bank")
FORMATS: dict[str, Callable[[Path], Path]] = {
    "native": lambda folder: save_multi_vector("modernbert", folder),
    "pylate": save_pylate,
    "stanford": save_stanford,
}
Run = Callable[..., tuple[int, str, str]]


pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture(autouse=True)
def saved(models_dir: Path) -> Path:
    for name, save in FORMATS.items():
        save(models_dir / name)
    return models_dir


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command: its exit code, output and errors."""

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bertviz_core", *words])
        capsys.readouterr()  # what other libraries have printed
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), *capsys.readouterr()

    return command


def page(model: str, view: str = "Late interaction", **query: str) -> AppTest:
    inputs = {"sentences": "\n".join(TEXTS), "query_sentence": QUERY, **query}
    return opened("sentences", view=view, model=model, **inputs)


@pytest.mark.slow
@pytest.mark.parametrize("model", FORMATS)
def test_page_library_command_and_code_show_one_score(model: str, saved: Path, run: Run) -> None:
    library = MultiVectorEncoder(str(saved / model), device="cpu")
    vectors = library.encode_query([QUERY]), library.encode_document([TEXTS[2]])
    expected = open_model(saved / model).late_interaction(QUERY, TEXTS[2])
    assert expected.score == pytest.approx(float(library.similarity(*vectors)), abs=1e-5)
    at = page(model, second_sentence="2", sentences_late_interaction_explained="true")
    assert not at.exception
    assert not at.error
    assert not at.warning
    cells, bars = (trace for trace in chart(at, "sentences_late_interaction") if trace["type"] in ("heatmap", "bar"))
    np.testing.assert_allclose(cells["z"], expected.cosines, atol=1e-6)
    np.testing.assert_allclose(bars["x"], expected.largest, atol=1e-6)
    np.testing.assert_allclose(at.dataframe[-1].value["largest"], expected.largest, atol=1e-6)
    assert any(visible_text(each.value).startswith(f"**{expected.score:.4f}** = ") for each in at.markdown)
    np.testing.assert_allclose(printed(at.code[-1].value)[-1], expected.score, atol=1e-6)
    code, out, _ = run("late-interaction", str(saved / model), QUERY, TEXTS[2], "--json")
    assert (code, json.loads(out)) == (0, expected.to_json())
    assert f"score {expected.score:.4f}" in run("late-interaction", str(saved / model), QUERY, TEXTS[2])[1]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["words", "causes"])
def test_the_view_leads_to_what_its_score_depends_on(path: str, saved: Path) -> None:
    at = page("pylate", second_sentence="2")
    (data,) = [each.proto.json for each in at.get("bidi_component") if "interaction_causes" in each.proto.id]
    address = next(each["address"] for each in json.loads(data)["links"] if each["address"].startswith(f"{path}?"))
    linked = opened(path, **dict(parse_qsl(address.partition("?")[2])))
    assert not linked.exception
    assert not linked.error
    score = open_model(saved / "pylate").late_interaction(QUERY, TEXTS[2]).score
    shown = " ".join([repr(linked.main), *(visible_text(each.value) for each in (*linked.markdown, *linked.caption))])
    assert "late-interaction score for" in shown
    assert f"{score:.{3 if path == 'causes' else 4}f}" in shown


def test_other_encoders_are_not_offered_the_score_as_a_target() -> None:
    at = page("all-MiniLM-L6-v2")
    assert not [each for each in at.get("bidi_component") if "interaction_causes" in each.proto.id]
    assert "late-interaction" not in kinds(opened("words", model="all-MiniLM-L6-v2", pair="a bank"))
    assert kinds(opened("words", model="pylate", pair="a bank"))[:2] == ["late-interaction", "cosine"]


@pytest.mark.slow
@pytest.mark.parametrize("model", FORMATS)
def test_rank_orders_by_late_interaction(model: str, saved: Path, run: Run) -> None:
    library = MultiVectorEncoder(str(saved / model), device="cpu")
    scores = library.similarity(library.encode_query([QUERY]), library.encode_document(list(TEXTS)))[0].numpy()
    expected = open_model(saved / model).rank(QUERY, TEXTS)
    np.testing.assert_allclose(expected.scores, scores, atol=1e-5)
    np.testing.assert_array_equal(expected.order, np.argsort(-scores))
    at = page(model, "Rank")
    assert not at.error
    assert at.dataframe[-1].value["text"].tolist() == [TEXTS[index] for index in expected.order]
    assert "logit" not in at.dataframe[-1].value
    np.testing.assert_allclose(chart(at, "sentences_ranking")[0]["x"], expected.scores[expected.order], atol=1e-6)
    (data,) = [each.proto.json for each in at.get("bidi_component") if "sentences_ranking_open" in each.proto.id]
    first, _ = (each["address"] for each in json.loads(data)["links"])
    assert first.startswith(f"sentences?model={model}&view=Late+interaction&")
    code, out, _ = run("rank", str(saved / model), QUERY, *TEXTS, "--json")
    assert (code, json.loads(out)) == (0, expected.to_json())


@pytest.mark.slow
def test_another_encoder_is_compared_with_the_sentence_that_it_was_not_trained_for_it(saved: Path, run: Run) -> None:
    at = page("all-MiniLM-L6-v2")
    assert sum("was not trained for late interaction" in visible_text(each.value) for each in at.markdown) == 1
    expected = open_model("all-MiniLM-L6-v2").rank(QUERY, TEXTS, ranked_by="late interaction")
    assert any("was not trained for late interaction" in each for each in expected.notices)
    ranked = page("all-MiniLM-L6-v2", "Rank", ranked_by="late interaction")
    assert ranked.dataframe[-1].value["text"].tolist() == [TEXTS[index] for index in expected.order]
    code, out, _ = run("rank", "all-MiniLM-L6-v2", QUERY, *TEXTS, "--ranked-by", "late-interaction", "--json")
    assert (code, json.loads(out)) == (0, expected.to_json())


@pytest.mark.slow
def test_a_model_with_a_head_ranks_by_it_unless_another_way_is_named(saved: Path) -> None:
    model = open_model(save_tiny_head("bert", "sequence-classification", saved / "reranker", num_labels=1))
    assert model.rank(QUERY, TEXTS).data.score_name == "sigmoid"
    assert model.rank(QUERY, TEXTS, ranked_by="late interaction").data.score_name == "late interaction"
    with pytest.raises(BertvizError, match="ranked_by=luck"):
        model.rank(QUERY, TEXTS, ranked_by="luck")
    with pytest.raises(BertvizError, match="leave out label"):
        model.rank(QUERY, TEXTS, ranked_by="late interaction", label="a")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("model", "spoil", "message"),
    [
        ("pylate", lambda folder: (folder / "1_Dense/model.safetensors").unlink(), "needs its projection"),
        ("pylate", lambda folder: change(folder, "config_sentence_transformers.json", skiplist_words=3), "not a list"),
        ("stanford", lambda folder: (folder / "artifact.metadata").write_text("[" * 10_000), "artifact.metadata"),
        ("native", lambda folder: change(folder, "2_MultiVectorMask/config.json", keep_only_token_ids=[1]), "by their"),
    ],
)
def test_a_damaged_folder_is_one_sentence_everywhere(
    model: str, spoil: Callable[[Path], object], message: str, saved: Path, run: Run
) -> None:
    spoil(saved / model)
    for at in (page(model), page(model, "Rank")):
        (error,) = at.error
        assert message in visible_text(error.value)
        assert not at.exception
    with pytest.raises(BertvizError, match=message):
        open_model(saved / model).late_interaction(QUERY, TEXTS[0])
    code, out, err = run("late-interaction", str(saved / model), QUERY, TEXTS[0])
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_blank_texts_are_refused(saved: Path, run: Run) -> None:
    (info,) = page("native", query_sentence=" ").info
    assert "Type a query" in visible_text(info.value)
    for words, message in ((("", TEXTS[0]), "query is empty"), ((QUERY, " "), "document is blank")):
        code, out, err = run("late-interaction", str(saved / "native"), *words)
        assert (code, out) == (2, "")
        assert message in err
        with pytest.raises(BertvizError, match=message):
            open_model(saved / "native").late_interaction(*words)
