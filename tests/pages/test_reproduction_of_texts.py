"""Code of the pages on tokens and sentences runs as it is and gives the page's numbers; every view is tested."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.models.catalog import FINE_TUNED
from bertviz_core.text import decimals
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, views
from tests.pages.snippets import BUNDLED, LABEL, MODELS, Check, Printed, chart, check_view, close, folded, printed

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("saved_models")


def nearest(at: AppTest, values: Printed) -> None:
    norm, tokens, cosines = values
    assert any(f"has the norm **{norm:.4f}**" in each.value for each in at.markdown)
    rows = folded(at, "tokens_neighbours")
    close(cosines, rows["cosine"])
    alike = rows["cosine"].duplicated(keep=False)
    assert len(tokens) == len(rows)
    assert [token for token, tied in zip(tokens, alike, strict=True) if not tied] == list(rows.loc[~alike, "token"])


def similarity(at: AppTest, values: Printed) -> None:
    close(values[0], chart(at, "sentences_similarity")[0]["z"])


def poolings(at: AppTest, values: Printed) -> None:
    rows = folded(at, "sentences_poolings")
    rows = rows[rows["pooling"] == rows["pooling"].iloc[0]]
    close(values[1::3], rows["mean cosine"])
    close(values[2::3], rows["spread"])


def pairs(at: AppTest, values: Printed) -> None:
    cells, total, cosine = values
    shown = folded(at, "sentences_pair").select_dtypes("number").to_numpy()
    close(cells, shown[: len(cells), -cells.shape[1] :])
    if not at.warning:  # an approximation has a warning
        close(total, cosine)
    assert any(f"**{float(cosine):.4f}**" in each.value for each in at.markdown)


def query(at: AppTest, values: Printed) -> None:
    scores = values[0].values.numpy()
    close(scores, at.dataframe[-1].value.iloc[:, 0])


def plane(at: AppTest, values: Printed) -> None:
    shown = folded(at, "sentences_map")[["first", "second"]].to_numpy()
    signs = np.sign((np.asarray(values[0]) * shown).sum(0))
    close(np.asarray(values[0]) * signs, shown, 1e-3)


def dimensions(at: AppTest, values: Printed) -> None:
    shared, spearman = chart(at, "sentences_dimensions")
    for found, drawn in zip(values[:3], (2 ** np.array(shared["x"]), shared["y"], spearman["y"]), strict=True):
        close(found, drawn)


def bits(at: AppTest, values: Printed) -> None:
    rows = [values[start : start + 7] for start in range(0, len(values) - 2, 7)]
    shown = folded(at, "sentences_bits")[["recall", "Spearman", "nearest changed"]]
    close([[recall, rank, changed] for *_, recall, rank, changed in rows], shown)


def background(at: AppTest, values: Printed) -> None:
    shown = folded(at, "sentences_background").set_index("percentile")
    close(values[2], shown.loc[[5, 95, 99]].iloc[:, 0])


def vectors(at: AppTest, values: Printed) -> None:
    close(values[0], folded(at, "sentences_vectors").filter(regex=r"^d\d+$"))


def two_models(at: AppTest, values: Printed) -> None:
    first, second, difference = [trace["z"] for trace in chart(at, "sentences_compared") if trace["type"] == "heatmap"]
    close(values[0], first)
    close(values[1], second)
    close(values[1] - values[0], difference)
    ranges = [[one.mean, one.low, one.high] for one in values[2:4]]
    close(ranges, folded(at, "sentences_pair_cosines").select_dtypes("number"))


def interaction(at: AppTest, values: Printed) -> None:
    close(values[2], chart(at, "sentences_late_interaction")[0]["z"])
    assert list(values[0]) == at.dataframe[-1].value["token"].tolist()
    close(values[3], at.dataframe[-1].value["largest"])


def positions(at: AppTest, values: Printed) -> None:
    shares, total = values
    close(total, 1.0)
    close(shares, folded(at, "sentences_positions")["share"])


def chunks(at: AppTest, values: Printed) -> None:
    alone, late, both, alone_scores, late_scores = values
    close(both, (alone * late).sum(1) / np.linalg.norm(alone, axis=1) / np.linalg.norm(late, axis=1))
    rows = at.dataframe[-1].value
    close(np.stack([both, alone_scores, late_scores], 1), rows[["both", "alone", "late"]])


def prompts(at: AppTest, values: Printed) -> None:
    rows = at.dataframe[0].value.select_dtypes("number")
    close(
        [values[each + 1 : each + 5] for each in range(0, len(values), 6)],
        rows[["mean cosine", "spread", "order kept", "nearest kept"]],
    )


def scripts(at: AppTest, values: Printed) -> None:
    rows, *found, ids, counts, _, _ = at.dataframe[0].value, *values
    assert [(each.kind, each.rows, each.used) for each in found] == list(
        rows[["kind", "rows", "used"]].itertuples(False)
    )
    shown = folded(at, "sentences_coverage")
    assert (shown["id"].tolist(), shown["tokens"].tolist()) == (
        ids[: len(shown)].tolist(),
        counts[: len(shown)].tolist(),
    )


def threshold(at: AppTest, values: Printed) -> None:
    *_, thresholds, precision, recall, f1, _ = values
    shown = folded(at, "sentences_thresholds").set_index("threshold")[["precision", "recall", "F1"]]
    drawn = np.flatnonzero(np.isclose(thresholds[:, None], shown.index.to_numpy(), atol=1e-6).any(1))
    close(np.stack([precision, recall, f1], 1)[drawn], shown)


def recipe(at: AppTest, _: Printed) -> None:
    """The recipe that the page names makes the vectors of its first text."""
    (place,) = [each for each in at.expander if each.label == LABEL]
    shown, text = at.dataframe[1].value.iloc[0], "A river."
    (vector,) = printed(f"{place.code[0].value}\nprint(vector_of({text!r}))")
    assert shown["recipe"] == "first token, after layer 5, normalised"
    close(vector, open_model(BUNDLED).sentences([text], pooling="cls").vectors[0])


VIEWS: Mapping[str, Mapping[str, Check]] = {
    "Similarity": {"sentences_similarity": similarity},
    "Two models": {"sentences_pair_cosines": two_models},
    "Poolings": {"sentences_poolings": poolings},
    "Token contributions": {"sentences_pair": pairs},
    "Query": {"sentences_query": query},
    "Long text": {"sentences_positions": positions, "sentences_chunks": chunks},
    "Late interaction": {"sentences_late_interaction": interaction},
    "Map": {"sentences_map": plane},
}
GOLD = (
    "good\tThe bed was clean.\nbad\tThe bread was rude.\ngood\tI found the train clean.\nbad\tThe guide was not fresh."
)
VECTORS: Mapping[str, Check] = {**VIEWS["Similarity"], "sentences_vectors": vectors}
"""Figures of Similarity that a switch adds to."""


OF_WORD_PIECES: Mapping[str, Mapping[str, Check]] = {
    "Prompts": {"sentences_prompts": prompts},
    "Threshold": {"sentences_thresholds": threshold},
    "Vocabulary in use": {"sentences_vocabulary": scripts},
    "Smaller vectors": {"sentences_dimensions": dimensions, "sentences_bits": bits},
    "Outside vectors": {"sentences_recipes": recipe},
}
"""Views that are tried with the bundled model alone."""


@pytest.mark.parametrize("view", OF_WORD_PIECES)
def test_lists_of_sentences(view: str) -> None:
    check_view("sentences", BUNDLED, OF_WORD_PIECES[view], view=view, sentences_coverage_table="true")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.sample(1)
def test_sentences(view: str, model: str) -> None:
    check_view("sentences", model, VIEWS[view], view=view, other=FINE_TUNED)


@pytest.mark.sample(1)
@pytest.mark.parametrize("of", ["unrelated texts", "this list"])
def test_the_background_of_similarities(of: str) -> None:
    opened_fold = {"sentences_background_figure": "true", "background": of}
    check_view("sentences", "pieces", {**VIEWS["Similarity"], "sentences_background": background}, **opened_fold)


@pytest.mark.parametrize("measure", ["dot product", "Euclidean"])
@pytest.mark.sample(1)
def test_other_measures(measure: str) -> None:
    for view in ("Similarity", "Query"):
        check_view("sentences", "pieces", VIEWS[view], view=view, measure=measure)


@pytest.mark.sample(1)
@pytest.mark.parametrize("pooling", ["cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"])
def test_other_poolings(pooling: str) -> None:
    check_view("sentences", "pieces", VECTORS, vectors_shown="true", pooling=pooling, layer="1")


@pytest.mark.parametrize("view", ["Query", "Token contributions"])
@pytest.mark.parametrize("options", [{}, {"query_prompt": "query"}, {"pooling": "max", "prompt": "query"}])
@pytest.mark.parametrize("included", [True, False])
@pytest.mark.sample(1)
def test_prompts_and_dense_layers(view: str, options: dict[str, str], included: bool, saved_models: Path) -> None:
    name = f"asks-{included}"
    if not (saved_models / name).exists():
        from sentence_transformers import SentenceTransformer, models

        parts = save_tiny("bert", saved_models / "parts")
        modules: list[Any] = [models.Transformer(str(parts)), models.Pooling(12, "mean", include_prompt=included)]
        modules += [] if included else [models.Dense(12, 7)]
        prompts = {"document": "my pet ", "query": "the river : "}
        SentenceTransformer(modules=modules, prompts=prompts, default_prompt_name="document").save(
            str(saved_models / name)
        )
    check_view("sentences", name, VIEWS[view], view=view, **options)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_tokens(model: str) -> None:
    at = check_view(
        "tokens", model, {"tokens_text": nearest}, text="I love my pet python.", tokens_neighbours_table="true"
    )
    ids, code = at.code[-2:] if at.code[-1].language == "python" else at.code[:2]
    (found,) = printed(code.value)
    assert str(found.tolist()) in ids.value


def weights(at: AppTest, values: Printed) -> None:
    (row, *_) = values
    assert row.shape == (len(row), len(row))
    close(row.sum(-1), np.ones(len(row)))
    assert f"{len(row)} tokens" in " ".join(each.value for each in at.markdown)


@pytest.mark.parametrize("model", MODELS)
def test_attention(model: str) -> None:
    """The page opens with code; tests/ui/views/attention/test_reproduction.py compares its numbers."""
    check_view("attention", model, {"attention_heads": weights})


def words(at: AppTest, values: Printed) -> None:
    best, probabilities, log_probability, rank = values
    rows = folded(at, "predictions_words")
    assert list(rows["word"][:10]) == best
    close(probabilities, rows["probability"][:10])
    shown = " ".join(each.value for each in at.markdown)
    assert f"log-probability **{decimals(float(log_probability), 3)}** nats, rank **{int(rank):,}**" in shown


def surprise(at: AppTest, values: Printed) -> None:
    close(values[0], folded(at, "predictions_surprise")["surprise, nats"].dropna())
    close(values[1:], [float(at.metric[0].value.split()[0]), float(at.metric[1].value.replace(",", ""))], 0.06)


def lens(at: AppTest, values: Printed) -> None:
    *_, log_probability, rank, entropy, divergence = values
    rows = folded(at, "predictions_lens")
    for printed_values, name in (
        (log_probability, "log-probability of the original"),
        (rank, "rank of the original"),
        (entropy, "entropy"),
        (divergence, "KL to the last layer"),
    ):
        close(np.ravel(printed_values), rows[name])


def terms(at: AppTest, values: Printed) -> None:
    rows = folded(at, "predictions_terms")[:12]
    assert list(rows["word"]) == values[0]
    close(values[1], rows["weight"])
    assert np.asarray(values[2]).tolist() == list(rows["position"])


def score(at: AppTest, values: Printed) -> None:
    rows = folded(at, "predictions_score")
    assert f"{float(values[0]):.3f}" == at.metric[0].value
    close(values[2], rows["product"][:12])


WORD_VIEWS: Mapping[str, Mapping[str, Check]] = {
    "Masked words": {"predictions_words": words},
    "Surprise": {"predictions_surprise": surprise},
    "Lens": {"predictions_lens": lens},
    "Expanded terms": {"predictions_terms": terms},
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("view", WORD_VIEWS)
def test_words_of_a_head(view: str) -> None:
    check_view("predictions", "splade-tiny", WORD_VIEWS[view], view=view, text="I love my pet python.")


def several(at: AppTest, values: Printed) -> None:
    (table,) = [each.value for each in at.dataframe]
    assert list(table["answer"]) == list(values[0])
    close(values[1], table["probability"])


def test_several_texts() -> None:
    check_view("predictions", "splade-tiny", {"predictions_several": several}, view="Several texts")


def reliability(at: AppTest, values: Printed) -> None:
    scores, *_, temperature, before, after, probability, share, coverage, accuracy = values
    rows = folded(at, "predictions_calibration")
    close(np.stack([probability, share], 1), rows[["mean probability", "share"]])
    covered = folded(at, "predictions_coverage")
    close(np.stack([coverage, accuracy], 1), covered[["answered", "accuracy"]])
    table = next(each.value for each in at.dataframe if "ECE" in each.value)
    close(scores.accuracy, table["accuracy"].iloc[0])


def suspects(at: AppTest, values: Printed) -> None:
    places, suggested, counts, estimated, _, _ = values
    given = folded(at, "predictions_label_errors").set_index("given label")
    close(counts, given.iloc[:, : len(given)])
    rows = next(each.value for each in at.dataframe if "suggested" in each.value)
    assert rows["row"].tolist() == (places + 1).tolist()
    assert rows["suggested"].tolist() == [given.index[each] for each in suggested]
    assert estimated == len(places)


def swaps(at: AppTest, values: Printed) -> None:
    _, mean, interval, _ = values
    rows = next(each.value for each in at.dataframe if "low" in each.value)
    rows = rows[rows["number"] == "mean surprise"]
    close(np.column_stack([mean, *interval]), rows[["difference", "low", "high"]])


LISTED: Mapping[str, tuple[str, Mapping[str, Check], Mapping[str, str]]] = {
    "Calibration": ("negations/checkpoint-80", {"predictions_calibration": reliability}, {"many_texts": GOLD}),
    "Label errors": (BUNDLED, {"predictions_label_errors": suspects}, {}),
    "Word swaps": ("splade-tiny", {"predictions_swaps": swaps}, {}),
}
"""View of Predictions -> model, checks, and what its address has."""


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("view", LISTED)
def test_lists_of_labelled_texts(view: str) -> None:
    model, checks, more = LISTED[view]
    check_view("predictions", model, checks, view=view, predictions_coverage_table="true", **more)


def test_the_score_of_two_texts() -> None:
    texts = {"text": "the capital of france", "pair": "where is paris"}
    check_view("predictions", "splade-tiny", {"predictions_score": score}, view="Expanded terms", **texts)


def _calls(tree: ast.AST, name: str) -> list[ast.AST]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


@pytest.mark.parametrize("page", [path.stem for path in sorted((ROOT / "pages").glob("[a-z]*.py"))])
@pytest.mark.slow
def test_no_view_is_left_out(page: str) -> None:
    """A test that runs code names the page, and each of its views except the first."""
    run: list[ast.AST] = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if re.match(r"test_(code_of|reproduction)", path.name):
            run.append(tree)
        else:  # a page's own test, of which only executed code counts
            run += _calls(tree, "check_view")
            run += [each for each in tree.body if isinstance(each, ast.FunctionDef) and _calls(each, "exec")]
    named = {node.value for tree in run for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    at = opened(page, model=BUNDLED)
    offered = views(at) if [each for each in at.get("bidi_component") if each.proto.id.endswith("-views")] else []
    assert {page, *offered[1:]} <= named
