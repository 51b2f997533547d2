"""`python -m bertviz_core figure`: the page's own picture as a file, captioned, in three themes, without a request.

Covers `bertviz_core/cli/figure/*.py`, `bertviz_core/questions/*/*.py`, `bertviz_core/questions/corpora.py`,
`bertviz_core/questions/figures.py`, `bertviz_core/figures/base/spec.py`.
"""

import asyncio
import json
import math
import re
import shlex
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.attention.maps import STEPS
from bertviz_core.figures.base import spec
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, THEMES, WIDTHS, theme_named
from bertviz_core.figures.pages import PAGES
from bertviz_core.models.catalog import BUNDLED, SPLADE, WEIGHTS
from bertviz_core.questions import figures
from bertviz_core.questions import question as question_module
from bertviz_core.questions.figures import all_figures
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, figure_questions, question
from bertviz_core.questions.report import figure_files
from bertviz_core.questions.texts.hidden_states import QUERY
from bertviz_core.questions.views import sentences
from tests.cli.checkpoints.test_training import CASES as TRAINING_FIGURES
from tests.cli.conftest import Command
from tests.cli.corpus.test_figures import CASES as CORPUS_FIGURES
from tests.helpers.charts import decoded_arrays, sent_charts
from tests.helpers.scales import drawn_bars, scale_faults
from tests.pages.labels import FIGURES
from tests.pages.opened import opened, views_of
from ui.session import TEACHING_SIZES
from ui.widgets import figure_block
from ui.widgets import run_model as answers

MODEL, TEXT = "all-MiniLM-L6-v2", "I love my pet python."
EVIL = "<img src=x onerror=alert(1)></svg> & python"
SVG = "{http://www.w3.org/2000/svg}"
PAIRS = ("One river.", "One bank.", "Two rivers.")
SECOND = "A python sleeps."
ALIKE = "I love coding in python."
"""A text with as many tokens as the default text."""
LABELLED = ("a\tOne river.", "b\tOne bank.", "a\tTwo rivers.", "b\tTwo banks.")
TYPED = {"labelled": "typed", "labelled_texts": "\n".join(LABELLED)}
GOLD = ("A cat sat.\tA dog ran.\t2.0", "A river.\tA bank.\t2.5", "A tree.\tTwo trees.\t4.5", "Rain.\tMoney.\t0.0")
WORDS = ("city\tThe capital of France is [MASK].", "moon\tThe [MASK] shone all night.")
PLACES = (
    ("The bed was clean.", "good"),
    ("The bread was rude.", "bad"),
    ("I found the train clean.", "good"),
    ("The guide was not fresh.", "bad"),
    ("The market was awful.", "bad"),
)
TAGGED = ("pet O\nriver B-PER", '{"tokens": ["my", "bank"], "tags": ["O", "I-PER"]}')
CALIBRATED = {
    "model": "negations/checkpoint-80",
    "view": "Calibration",
    "many_texts": "\n".join(f"{label}\t{text}" for text, label in PLACES),
}
TUNED = "sre-embedding-model"
COPY = "itself, rounded to float8_e4m3fn"
"""The default comparison on the page if there is no other model."""
CASES: dict[str, tuple[tuple[str, ...], tuple[str, dict[str, str]]]] = {
    "parameters --form icicle --depth 4": ((), ("parameters", {"form": "icicle", "depth": "4"})),
    "components": ((), ("parameters", {"view": "Layers", "split": "components"})),
    "models": (TEACHING_SIZES, ("parameters", {"view": "Compare models"})),
    "layer --layer 1": ((TEXT,), ("architecture", {"view": "One layer", "layer": "1"})),
    "memory --set holding=Training": ((), ("architecture", {"view": "Cost", "holding": "Training"})),
    "load-report --task masked-lm": ((), ("checkpoint", {"load_task": "masked-lm"})),
    "task-head --task token-classification --set labels=5": (
        (),
        ("checkpoint", {"load_task": "token-classification", "labels": "5"}),
    ),
    "weights --set statistic=mean": ((), ("checkpoint", {"view": "Weights", "statistic": "mean"})),
    "values --set tensor=embeddings.LayerNorm.bias": (
        (),
        ("checkpoint", {"view": "Weights", "tensor": "embeddings.LayerNorm.bias"}),
    ),
    "number-formats --set rounded_by=component": (
        (),
        ("checkpoint", {"view": "Fewer bits", "rounded_by": "component"}),
    ),
    f"changes --set 'other={COPY}' --set scale=even --set 'change_order=both by change'": (
        (),
        ("checkpoint", {"view": "Compare with base", "other": COPY, "scale": "even", "change_order": "both by change"}),
    ),
    f"change --set 'other={COPY}' --set changed=pooler.dense.bias": (
        (),
        ("checkpoint", {"view": "Compare with base", "other": COPY, "changed": "pooler.dense.bias"}),
    ),
    f"cosines --set 'other={COPY}'": (
        (TEXT,),
        ("checkpoint", {"view": "Compare with base", "other": COPY, "compared": "behaviour with the text"}),
    ),
    f"divergences --set 'other={COPY}'": (
        (TEXT,),
        ("checkpoint", {"view": "Compare with base", "other": COPY, "compared": "behaviour with the text"}),
    ),
    f"layer-similarity --set 'other={COPY}' --set 'layer_measure=nearest texts shared'": (
        (),
        (
            "checkpoint",
            {
                "view": "Compare with base",
                "other": COPY,
                "compared": "layers over many texts",
                "layer_measure": "nearest texts shared",
            },
        ),
    ),
    f"text-cosines --set 'other={COPY}'": (
        (),
        ("checkpoint", {"view": "Compare with base", "other": COPY, "compared": "layers over many texts"}),
    ),
    "position-shares": ((TEXT,), ("sentences", {"view": "Long text", "long_text": TEXT})),
    "late-chunks --set chunk_tokens=3 --set chunk_query=python": (
        (TEXT,),
        ("sentences", {"view": "Long text", "long_text": TEXT, "chunk_tokens": "3", "chunk_query": "python"}),
    ),
    "tokens --set below=position --set token=3": ((TEXT,), ("tokens", {"below": "position", "token": "3"})),
    "nearest --set token=2": ((TEXT,), ("tokens", {"token": "2"})),
    "hidden --layer 0 --first 7 --window 32": (
        (TEXT,),
        ("representations", {"view": "Values", "layer": "embeddings", "first": "7", "window": "32"}),
    ),
    "norms --map change": ((TEXT,), ("representations", {"view": "Change", "map": "turn in each layer"})),
    "norms": ((TEXT,), ("representations", {"view": "Change", "map": "vector length"})),
    "similarity --layer 3": ((TEXT,), ("representations", {"view": "Token similarity", "layer": "2"})),
    "pooler": ((TEXT,), ("representations", {"view": "Values", "vectors_of": "[CLS] and pooler"})),
    "paths": ((TEXT,), ("representations", {"view": "Paths"})),
    "paths --set picked=1.4.5": ((TEXT,), ("representations", {"view": "Paths", "picked": "1.4.5"})),
    "word --set word=python": (
        (TEXT, SECOND),
        ("representations", {"view": "One word, two texts", "first_text": TEXT, "second_text": SECOND}),
    ),
    "matrix --layer 2 --head 5 --set matrix=output": ((), ("heads", {"layer": "2", "head": "5", "matrix": "output"})),
    "products --layer 1 --set product=value": (
        (TEXT,),
        ("heads", {"products_shown": "true", "layer": "1", "matrix": "value"}),
    ),
    "cell --layer 2 --head 5 --set key=1": (
        (TEXT,),
        ("heads", {"view": "One cell", "layer": "2", "head": "5", "key": "1"}),
    ),
    "mix --layer 2 --set query=3": ((TEXT,), ("heads", {"view": "One cell", "layer": "2", "query": "3"})),
    "heads": ((), ("heads", {"weights_of": "all layers"})),
    f"attention-compared --set 'other={COPY}' --layer 1 --head 3 --words": (
        (TEXT,),
        ("attention", {"layer": "1", "head": "3", "words": "true", "other": COPY}),
    ),
    f"attention-changed --set 'other={COPY}'": ((TEXT,), ("attention", {"other": COPY})),
    f"states-compared --set 'other={COPY}'": ((TEXT,), ("representations", {"other": COPY})),
    "readings --layer 1 --head 3": ((TEXT,), ("attention", {"layer": "1", "head": "3", "attention_beside": "true"})),
    "sentences --set measure=dot --set order=clustered": (
        PAIRS,
        ("sentences", {"measure": "dot product", "order": "clustered"}),
    ),
    "blocks": (PAIRS, ("sentences", {})),
    "sentences-compared --set other=sre-embedding-model": (
        PAIRS,
        ("sentences", {"view": "Two models", "other": TUNED}),
    ),
    "gold-cosines --set other=sre-embedding-model": (
        tuple(cell for line in GOLD for cell in line.split("\t")),
        (
            "sentences",
            {
                "view": "Two models",
                "other": TUNED,
                "two_models_of": "pairs with gold similarity",
                "gold_pairs": "\n".join(GOLD),
            },
        ),
    ),
    "thresholds --set precision=0.8 --set cut=2.5": (
        tuple(cell for line in GOLD for cell in line.split("\t")),
        (
            "sentences",
            {
                "view": "Threshold",
                "precision": "0.8",
                "cut": "2.5",
                "labelled_from": "my own list",
                "gold_pairs": "\n".join(GOLD),
            },
        ),
    ),
    f"pair-cosines --set 'other={COPY}' --set pooling=max": (
        PAIRS,
        ("sentences", {"view": "Two models", "other": COPY, "pooling": "max"}),
    ),
    "prompts --set 'prompt_pair=BGE' --set pooling=max": (
        PAIRS,
        ("sentences", {"view": "Prompts", "prompt_pair": "BGE", "pooling": "max"}),
    ),
    "prompt-ranks --set prompt_pair=nomic-embed-text": (
        tuple(cell for line in GOLD for cell in line.split("\t")),
        (
            "sentences",
            {
                "view": "Prompts",
                "prompted": "queries with gold",
                "prompt_pair": "nomic-embed-text",
                "search_rows": "\n".join(GOLD),
            },
        ),
    ),
    "poolings": (PAIRS, ("sentences", {"view": "Poolings"})),
    "pooling-maps": (PAIRS, ("sentences", {"view": "Poolings"})),
    "pair --layer 3 --pooling max --set cells=words": (
        PAIRS[:2],
        ("sentences", {"view": "Token contributions", "layer": "2", "pooling": "max", "cells": "words"}),
    ),
    "query --set query_sentence=Water": (PAIRS, ("sentences", {"view": "Query", "query_sentence": "Water"})),
    "late-interaction --set query_sentence=Water": (
        PAIRS[:1],
        ("sentences", {"view": "Late interaction", "query_sentence": "Water"}),
    ),
    "map": (PAIRS, ("sentences", {"view": "Map"})),
    "vocabulary": (PAIRS, ("sentences", {"view": "Vocabulary in use"})),
    "vocabulary-coverage": (PAIRS, ("sentences", {"view": "Vocabulary in use"})),
    "dimensions": (PAIRS, ("sentences", {"view": "Smaller vectors"})),
    "bits --set nearest=2": (PAIRS, ("sentences", {"view": "Smaller vectors", "nearest": "2"})),
    "background": (PAIRS, ("sentences", {"sentences_background_figure": "true"})),
    "vectors": (PAIRS, ("sentences", {"vectors_shown": "true"})),
    "masked-text --set mask=2,4 --set position=3": (
        (TEXT,),
        ("predictions", {"model": SPLADE, "mask": "2,4", "position": "3"}),
    ),
    "masked-words --set mask=2,4 --set position=3 --set compare=snake": (
        (TEXT,),
        ("predictions", {"model": SPLADE, "mask": "2,4", "position": "3", "compare": "snake"}),
    ),
    f"predictions-compared --set 'other={COPY}' --set view=lens --set mask=2,4 --set position=3": (
        (TEXT,),
        ("predictions", {"model": SPLADE, "view": "Lens", "other": COPY, "mask": "2,4", "position": "3"}),
    ),
    f"predictions-compared --set 'other={COPY}' --set view=surprise": (
        (TEXT,),
        ("predictions", {"model": SPLADE, "view": "Surprise", "other": COPY}),
    ),
    f"predictions-compared --set 'other={COPY}'": ((TEXT,), ("predictions", {"model": SPLADE, "other": COPY})),
    "surprise": ((TEXT,), ("predictions", {"model": SPLADE, "view": "Surprise"})),
    "lens --set lens=entropy": ((TEXT,), ("predictions", {"model": SPLADE, "view": "Lens", "lens": "entropy"})),
    f"effects --pair '{SECOND}'": ((TEXT,), ("causes", {"pair": SECOND})),
    f"effects-compared --set 'other={COPY}' --pair '{SECOND}'": ((TEXT,), ("causes", {"pair": SECOND, "other": COPY})),
    f"removal --set count=2 --pair '{SECOND}'": (
        (TEXT,),
        ("causes", {"view": "Several heads", "count": "2", "pair": SECOND}),
    ),
    f"joint-ablation --set removed_heads=0.1,5.3 --pair '{SECOND}'": (
        (TEXT,),
        (
            "causes",
            {
                "view": "Several heads",
                "pair": SECOND,
                "which": "my choice",
                "removed_heads": ["layer 0, head 1", "layer 5, head 3"],
            },
        ),
    ),
    f"patched-states --pair '{ALIKE}'": ((TEXT,), ("causes", {"view": "Patch", "pair": ALIKE})),
    f"patched-heads --pair '{ALIKE}'": ((TEXT,), ("causes", {"view": "Patch", "patched": "heads", "pair": ALIKE})),
    f"effect-spread --pair '{SECOND}'": (
        (TEXT, SECOND),
        (
            "causes",
            {
                "view": "Many sentences",
                "effect_list": "my own list",
                "effect_sentences": f"{TEXT}\n{SECOND}",
                "pair": SECOND,
            },
        ),
    ),
    f"word-shares --set units=tokens --pair '{SECOND}'": ((TEXT,), ("words", {"units": "tokens", "pair": SECOND})),
    f"word-bars --set 'method=integrated gradients' --pair '{SECOND}'": (
        (TEXT,),
        ("words", {"method": "integrated gradients", "pair": SECOND}),
    ),
    f"words-compared --set 'other={COPY}' --pair '{SECOND}'": ((TEXT,), ("words", {"pair": SECOND, "other": COPY})),
    f"word-curves --pair '{SECOND}'": ((TEXT,), ("words", {"view": "Remove word by word", "pair": SECOND})),
    f"word-pairs --pair '{SECOND}' --layer 3": ((TEXT,), ("words", {"view": "Pairs", "pair": SECOND, "layer": "2"})),
    "terms --set shown=4": ((TEXT,), ("predictions", {"model": SPLADE, "view": "Expanded terms", "shown": "4"})),
    f"term-score --pair '{SECOND}'": (
        (TEXT,),
        ("predictions", {"model": SPLADE, "view": "Expanded terms", "pair": SECOND}),
    ),
    "probe --layer 3 --pooling max --set seed=5": (
        LABELLED,
        ("predictions", {**TYPED, "view": "Train a probe", "layer": "2", "pooling": "max", "seed": "5"}),
    ),
    "label-errors --set 'suspects_by=noise rate' --set seed=5 --pooling max": (
        LABELLED,
        ("predictions", {**TYPED, "view": "Label errors", "suspects_by": "noise rate", "seed": "5", "pooling": "max"}),
    ),
    "confusion": (WORDS, ("predictions", {"model": SPLADE, "view": "Several texts", "many_texts": "\n".join(WORDS)})),
    "calibration --set with_gold=true --set bins=5 --set 'binned_by=equal mass'": (
        tuple(cell for text, label in PLACES for cell in (text, label)),
        ("predictions", {**CALIBRATED, "bins": "5", "binned_by": "equal mass"}),
    ),
    "word-swaps --set 'word_pairs=is / is not'": (
        ("It {} cold.", "He {} late."),
        (
            "predictions",
            {
                "view": "Word swaps",
                "swap_set": "typed",
                "word_pairs": "is / is not",
                "swap_templates": "It {} cold.\nHe {} late.",
            },
        ),
    ),
    "coverage --set with_gold=true": (
        tuple(cell for text, label in PLACES for cell in (text, label)),
        ("predictions", CALIBRATED),
    ),
}
"""Arguments of the command -> texts, and the page and address with the same figure."""
VIEWED: dict[str, dict[str, str]] = {
    "atlas --words --set weights=value-weighted": {"words": "true", "weights": "value-weighted"},
    "attention --layer 2 --head 7 --set hide_special=true": {"layer": "2", "head": "7", "hide_special": "true"},
    "lines --layer 2 --head 7": {"layer": "2", "head": "7", "look": "lines"},
}
"""Arguments of the command -> address of the attention page, whose own view shows the same numbers."""
WITH_ROWS = {words.split()[0] for words in (*CASES, *VIEWED, *FIGURES, *CORPUS_FIGURES, *TRAINING_FIGURES)} | {"long"}
ELSEWHERE = {
    "three-heads": "a model of its own; tests/predictions/scoring/test_three_heads.py",
    "modules": "shown as a tree that opens; tests/figures/architecture/test_modules.py",
    "vector-recipes": "vectors of another program; tests/pages/test_reproduction_of_texts.py",
}
"""Figures that no view draws as it opens for a usual model and text -> why, and their tests."""
WITHOUT_ROWS = tuple(name for name in all_figures() if name not in WITH_ROWS | ELSEWHERE.keys())
"""Figures that need no row: a view of their page draws them as it opens, for the text of the sidebar."""


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "figure")


def as_sent(figure: go.Figure) -> dict[str, Any]:
    """A figure as sent to a browser, with typed arrays decoded."""
    return decoded_arrays(json.loads(figure.to_json()))


def alike(one: Any, other: Any) -> bool:
    """Whether two figures are equal up to float32 rounding; NaN equals NaN."""
    if isinstance(one, float) and isinstance(other, (float, int)):
        return bool(np.isclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def written(run: Command, arguments: tuple[str, ...], drawn_figures: list[FigureSpec], file: Path) -> None:
    """Write a figure by the command; its description has the ends of its scales."""
    done = run(*arguments, "-o", str(file))
    assert done.returncode == 0, done.stderr
    message = re.search(r"Colours: ([^<]*)\.</desc>", file.read_text(encoding="utf-8"))
    for theme in (theme_named("light", pixels) for pixels in (WIDTHS[0], WIDTHS[-1])):
        drawn = drawn_figures[0].drawn(theme)
        if any("ticktext" in bar for bar, *_ in drawn_bars(drawn)):
            assert not scale_faults(drawn, message[1] if message else "")


def charts_of(at: AppTest, name: str) -> list[Any]:
    """The charts of a figure on a page, which has none that no figure declares."""
    assert not at.exception
    charts = sent_charts(at)
    declared = {each.chart for each in all_figures().values()}
    assert {each.key for each in charts} <= declared, "a chart that no figure declares"
    return [each for each in charts if each.key == all_figures()[name].chart]


def is_picture_of(chart: Any, drawn: FigureSpec) -> bool:
    """Whether a chart is a drawn figure; one that takes half of the page is drawn for that width."""
    shown = chart.figure
    sent = [as_sent(drawn.drawn(theme_named("light", pixels))) for pixels in WIDTHS]
    return any(all(alike(shown[part], each[part]) for part in ("data", "layout")) for each in sent)


@pytest.mark.parametrize("words", CASES, ids=CASES)
@pytest.mark.sample(1)
def test_a_file_has_the_picture_of_the_page(
    words: str, run: Command, drawn_figures: list[FigureSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, (page, address) = CASES[words]
    name, *options = shlex.split(words)
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    arguments = (name, address.get("model", MODEL), *given, *options)
    written(run, arguments, drawn_figures, tmp_path / "a.svg")
    more = {"sentences": "\n".join(given)} if page == "sentences" else {}
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    monkeypatch.setattr(figure_block, "SIDE_BY_SIDE", 10_000)  # half a page is narrower than a file
    if name == "blocks":
        monkeypatch.setattr(sentences, "EVERY_PAIR", 2)
    (chart,) = charts_of(opened(page, **address, **more), name)
    assert is_picture_of(chart, drawn_figures[0])


@pytest.mark.parametrize("name", WITHOUT_ROWS)
@pytest.mark.sample(1)
def test_a_file_of_a_figure_without_options_has_the_picture_of_a_view(
    name: str, run: Command, drawn_figures: list[FigureSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = all_figures()[name].chart.partition("_")[0]
    texts = () if PAGES[page].views_without_text is None else (TEXT,)
    monkeypatch.setattr(figure_block, "SIDE_BY_SIDE", 10_000)  # half a page is narrower than a file
    written(run, (name, MODEL, *texts), drawn_figures, tmp_path / "a.svg")
    views = (charts_of(opened(page, **({"view": view} if view else {})), name) for view in views_of(page))
    chart = next((chart for charts in views for chart in charts), None)
    assert chart is not None, f"{page} draws {name} in no view as it opens: give it a row in CASES"
    assert is_picture_of(chart, drawn_figures[0])


def viewed(at: AppTest) -> tuple[list[str], np.ndarray]:
    """Labels of the tokens, and the weights of all heads, as sent to the view of the attention page."""
    (view,) = [each for each in at.get("bidi_component") if each.proto.component_name == "attention_view"]
    content: bytes = view.proto.bytes
    (length,) = struct.unpack_from("<I", content)
    atlas = json.loads(content[4 : 4 + length])["atlas"]
    labels, shape = atlas["queries"]["labels"], (atlas["layers"], atlas["heads"])
    assert (atlas["bits"], atlas["keys"]) == (16, None)
    cells = np.frombuffer(content, "<u2", math.prod(shape) * len(labels) ** 2, 4 + length)
    return labels, (cells.reshape(*shape, len(labels), len(labels)) / 65_535) ** 2 * atlas["scale"]


def weights_drawn(figure: go.Figure, name: str, size: int, top: float) -> np.ndarray:
    """The weights that a figure of this many tokens shows, from its cells or its lines."""
    if name != "lines":
        cells = np.array(figure.data[0].z, dtype=float)
        return cells * top / figure.data[0].zmax if name == "atlas" else cells
    found = np.zeros((size, size))
    for trace in figure.data:
        if trace.mode == "lines":
            queries, keys = np.array(trace.y).reshape(-1, 3)[:, :2].astype(int).T
            found[queries, keys] = (trace.opacity**2 - 0.5 / STEPS) * top  # the middle of the shade
    return found


@pytest.mark.slow
@pytest.mark.parametrize("words", VIEWED, ids=VIEWED)
def test_a_file_of_attention_has_the_numbers_of_the_view(
    words: str, run: Command, drawn_figures: list[FigureSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *options = words.split()
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    done = run(name, MODEL, TEXT, *options, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 0, done.stderr
    at = opened("attention", **VIEWED[words])
    assert not at.exception
    labels, weights = viewed(at)
    layers, heads, size, _ = weights.shape
    whole = name == "atlas"
    shown = weights.transpose(0, 2, 1, 3).reshape(layers * size, heads * size) if whole else weights[2, 7]
    top = float(shown.max())
    written = drawn_figures[0].drawn(LIGHT)
    exact = {"atlas": top / 255, "attention": 1e-4, "lines": 0.52 / STEPS * top}[name]
    found = weights_drawn(written, name, size, top)
    assert found.shape == shown.shape
    np.testing.assert_allclose(found, np.where(shown > 0.02 * top, shown, 0) if name == "lines" else shown, atol=exact)
    if not whole:
        assert [re.sub("<.*?>", "", label) for label in written.layout.yaxis.ticktext] == labels


def test_one_head_of_a_long_text_is_that_of_the_page(
    run: Command, drawn_figures: list[FigureSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviz_core.questions.views.attention.ATLAS_CELLS", 1)
    run("long", MODEL, TEXT, "--layer", "2", "--head", "7", "--set", "keys=1:4", "-o", str(tmp_path / "a.png"))
    at = opened("attention", layer="2", head="7")
    at.slider(key="keys").set_value((1, 4)).run()
    shown = sent_charts(at)[0].figure
    assert as_sent(drawn_figures[0].drawn(LIGHT))["data"] == shown["data"]
    assert as_sent(drawn_figures[0].drawn(LIGHT))["layout"] == shown["layout"]


def test_no_two_figures_share_a_name() -> None:
    with pytest.raises(ValueError, match="overview"):
        figure("overview", "overview_stack", "again")(lambda: FigureSpec("t", "a", lambda theme: go.Figure()))


def test_a_new_figure_is_listed_without_being_listed_by_hand(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec, "DECLARED", dict(spec.DECLARED))
    monkeypatch.setattr(figures, "DECLARED", spec.DECLARED)
    monkeypatch.setattr(question_module, "DECLARED", {**figure_questions()})
    figures.all_figures.cache_clear()
    figure_questions.cache_clear()

    @figure("cells", "heads_cells", "a figure of a test")
    def declared(model_name: str) -> FigureSpec:
        return FigureSpec(f"Cells of {model_name}", "alt", lambda theme: go.Figure(layout={"height": 300}))

    @question(figures=("cells",), params=(QUERY,))
    def cells(opened: Opened, options: Options) -> Answer[str]:
        return answered(opened, opened.name, model_name=opened.name)

    try:
        line = next(each for each in command("figure", "--list").stdout.splitlines() if each.startswith("cells "))
        assert " ".join(line.split()) == "cells a figure of a test query="
        done = command("figure", "cells", MODEL, "-o", str(tmp_path / "a.html"))
    finally:
        figures.all_figures.cache_clear()
        figure_questions.cache_clear()
    assert (done.returncode, (tmp_path / "a.html").exists()) == (0, True), done.stderr
    assert done.stderr.startswith(f"Cells of {MODEL}: written to ")
    assert declared.inputs == ("model_name",)


def test_every_row_is_of_a_figure() -> None:
    assert set(all_figures()) >= WITH_ROWS


@pytest.mark.sample(2)
@pytest.mark.parametrize("theme", THEMES)
def test_an_html_file_needs_no_browser_and_no_network(
    theme: str, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    out = tmp_path / "a.html"
    done = run("norms", MODEL, EVIL, "--theme", theme, "-o", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    page = out.read_text(encoding="utf-8")
    assert THEMES[theme].paper in page
    assert f"revision {BUNDLED[MODEL].digests[WEIGHTS][:12]}" in page
    assert "“&lt;img src=x onerror=alert(1)&gt;&lt;/svg&gt; &amp; python”" in page
    assert "<img src=x" not in page
    assert "mathjax" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL | re.IGNORECASE).lower()


def test_without_a_browser_one_sentence_says_what_is_missing(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    done = run("layers", MODEL, "-o", str(tmp_path / "a.png"))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "Chromium" in line
    assert "BROWSER_PATH" in line
    assert ".html" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_caller_may_run_an_event_loop(run: Command, tmp_path: Path) -> None:
    async def within_a_loop() -> int:
        return run("layers", MODEL, "-o", str(tmp_path / "a.svg")).returncode

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, within_a_loop()).result() == 0
    assert (tmp_path / "a.svg").exists()


def test_without_the_renderer_one_sentence_says_so(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kaleido.errors", None)
    done = run("layers", MODEL, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 2
    assert "kaleido" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_renderer_has_nothing_against_the_installed_plotly() -> None:
    """Kaleido warns of an older plotly when it is imported, and a command's user would read that."""
    importing = [sys.executable, "-W", "always::UserWarning", "-c", "import kaleido"]
    assert subprocess.run(importing, capture_output=True, encoding="utf-8", check=False).stderr == ""


def test_a_browser_that_fails_is_one_sentence(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kaleido.errors import KaleidoError

    async def fail(*_: Any) -> bytes:
        raise KaleidoError(525, "the page\nwent away")

    monkeypatch.setattr(figure_files, "_drawn", fail)
    done = run("layers", MODEL, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 2
    assert "went away" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_png_and_svg_carry_the_caption_and_the_alt_text(run: Command, tmp_path: Path) -> None:
    png, svg = tmp_path / "a.png", tmp_path / "a.svg"
    options = ("--layer", "5", "--head", "3", "--theme", "dark", "--width", "700", "--height", "450")
    assert run("attention", MODEL, EVIL, *options, "-o", str(svg)).returncode == 0
    assert run("attention", MODEL, EVIL, *options, "-o", str(png)).returncode == 0
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width == 700
    assert height > 450
    spans = ["".join(each.itertext()) for each in root.findall(f"{SVG}text/{SVG}tspan")]
    caption = " ".join(spans)
    assert f"Model: {MODEL}, revision {BUNDLED[MODEL].digests[WEIGHTS][:12]}." in caption
    assert f"Text: “{EVIL}”." in caption
    assert "Colours: weight, 0 to 0." in caption
    assert root.findtext(f"{SVG}title") == f"Attention of layer 5, head 3 — {MODEL}"
    sources = caption.removeprefix(f"Attention of layer 5, head 3 — {MODEL}").strip()
    assert sources in (root.findtext(f"{SVG}desc") or "")
    assert root.find(f"{SVG}rect").attrib["fill"] == DARK.paper  # type: ignore[union-attr]  # a missing one fails too
    assert not list(root.iter(f"{SVG}script")) + list(root.iter(f"{SVG}img"))
    content = png.read_bytes()
    pixels = struct.unpack(">II", content[16:24])
    assert pixels == (1600, pytest.approx(1600 / 700 * height, abs=1))
    assert b"iTXtDescription\0" in content
    assert EVIL.encode() in content


@pytest.mark.slow
def test_a_slide_is_16_9_and_a_column_is_as_wide_as_a_papers(run: Command, tmp_path: Path) -> None:
    """A slide has 1600 x 900 pixels exactly, a column 85 mm and its typeface inside."""
    slide, column = tmp_path / "a.png", tmp_path / "a.svg"
    assert run("attention", MODEL, TEXT, "--for", "slide", "--theme", "print", "-o", str(slide)).returncode == 0
    assert struct.unpack(">II", slide.read_bytes()[16:24]) == (1600, 900)
    assert run("attention", MODEL, TEXT, "--for", "column", "--theme", "print", "-o", str(column)).returncode == 0
    root = ElementTree.fromstring(column.read_text(encoding="utf-8"))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert root.attrib["width"] == "85mm"
    assert float(root.attrib["height"].removesuffix("mm")) / 85 == pytest.approx(height / width, rel=1e-4)
    assert 14 * 85 / width / 25.4 * 72 == pytest.approx(7, abs=0.1), "points of the smallest text"
    assert MODEL in (root.findtext(f"{SVG}title") or "")
    assert f"Text: “{TEXT}”" in (root.findtext(f"{SVG}desc") or "")
    assert "@font-face" in (root.findtext(f"{SVG}style") or "")


def pdf_parts(content: bytes) -> bytes:
    """A PDF with its compressed streams opened (ISO 32000-1, 7.4.4), in which its objects may stand."""
    opened_streams = []
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        with suppress(zlib.error):
            opened_streams.append(zlib.decompressobj().decompress(stream))
    return b"\n".join([content, *opened_streams])


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ["attention", "journey"])
@pytest.mark.parametrize(("medium", "points"), [("slide", 1200), ("column", 85 / 25.4 * 72)])
def test_a_pdf_has_one_page_with_its_fonts_inside(
    name: str, medium: str, points: float, run: Command, tmp_path: Path
) -> None:
    """TrueType fonts, FontFile2, and none of Type 3 (ISO 32000-1, 9.6 and 9.9)."""
    file = tmp_path / "a.pdf"
    done = run(name, MODEL, TEXT, "--for", medium, "--theme", "print", "-o", str(file))
    assert done.returncode == 0, done.stderr
    content = pdf_parts(file.read_bytes())
    (box,) = re.findall(rb"/MediaBox ?\[([^\]]*)\]", content)
    left, bottom, right, top = map(float, box.split())
    assert (left, bottom) == (0, 0)
    assert right == pytest.approx(points, abs=0.5)
    if medium == "slide":
        assert top == pytest.approx(points * 9 / 16, abs=0.5)
    descriptors = re.findall(rb"/Type ?/FontDescriptor", content)
    assert len(re.findall(rb"/FontFile2 ", content)) == len(descriptors) >= 2
    assert b"/Type3" not in content
    assert {b"InsideSans-Regular", b"InsideSans-Semibold"} <= set(re.findall(rb"/FontName ?/[A-Z]+\+([\w-]+)", content))


@pytest.mark.slow
@pytest.mark.browser
def test_a_narrow_journey_is_saved_without_its_buttons(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    assert run("journey", MODEL, TEXT, "--layer", "2", "--for", "column", "-o", str(file)).returncode == 0
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    assert root.attrib["width"] == "85mm"
    texts = {"".join(each.itertext()) for each in root.iter(f"{SVG}text")}
    assert "layer 2" in texts
    assert not {"previous token", "next token"} & texts


def test_what_can_be_drawn_is_listed(command: Command) -> None:
    done = command("figure", "--list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*all_figures(), "journey"]
    assert all(len(line.split()) > 3 for line in lines)


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sunset", MODEL), "sunset"),
        (("layers", MODEL, "--theme", "sepia"), "sepia"),
        (("parameters", MODEL, "--form", "pie"), "pie"),
        (("norms", MODEL, TEXT, "--map", "width"), "width"),
        (("attention", MODEL, TEXT, "--layer", "6"), "0 to 5"),
        (("attention", MODEL, TEXT, "--head", "-1"), "0 to 11"),
        (("hidden", MODEL, TEXT, "--layer", "7"), "0 (the embedding output) to 6"),
        (("hidden", MODEL, TEXT, "--first", "384"), "0 to 383"),
        (("hidden", MODEL), "none"),
        (("hidden", MODEL, "a", "b"), "2 came"),
        (("sentences", MODEL), "none was given"),
        (("sentences", MODEL, "a", "b", "--pooling", "sum"), "sum"),
        (("poolings", MODEL, "a"), "second sentence"),
        (("models", MODEL), "name another"),
        (("word", MODEL, TEXT), "word=WORD"),
        (("word", MODEL, TEXT, "No such.", "--set", "word=pet"), "'pet' was not found in 'No such.'"),
        (("cell", MODEL, TEXT, "--set", "query=8"), "0 to 7"),
        (("cell", MODEL, TEXT, "--set", "token=2"), "query=, key="),
        (("journey", MODEL, TEXT, "--set", "change=head-3"), "--set change as head-LAYER.HEAD"),
        (("journey", MODEL, TEXT, "--set", "changed=layer-3"), "change=, removed_for="),
        (("overview", MODEL, "--set", "query"), "none"),
        (("overview", MODEL, "--for", "poster"), "choose slide or column"),
        (("overview", MODEL, "--for", "slide"), "An .html file has no size for a slide"),
        (("overview", MODEL, "--for", "slide", "--width", "700"), "leave out --width and --height"),
        (("journey", MODEL, TEXT, "--for", "column"), "An .html file has no size for a column"),
        (("long", MODEL, TEXT, "--set", "keys=4:1"), "FIRST:LAST"),
        (("atlas", MODEL, TEXT, "--set", "weights=all"), "value-weighted, rollout"),
        (("query", MODEL, "a"), "query_sentence=TEXT"),
        (("map", MODEL, "a", "b"), "three sentences"),
        (("pair", MODEL, "a"), "two"),
        (("changes", MODEL), "other=MODEL"),
        (("values", MODEL, "--set", "tensor=no.such"), "no.such"),
        (("layers", "no-such-model"), "no-such-model"),
        (("heads", "bert-base-uncased"), "not on this machine"),
    ],
)
def test_what_a_user_can_cause_is_one_line(
    arguments: tuple[str, ...], message: str, run: Command, tmp_path: Path
) -> None:
    done = run(*arguments, "-o", str(tmp_path / "a.html"))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_journey_is_drawn_with_a_change(run: Command, tmp_path: Path) -> None:
    values = ("--set", "change=head-3.5", "--set", "removed_for=its mean")
    done = run("journey", MODEL, TEXT, *values, "-o", str(tmp_path / "a.html"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Head 5 of layer 3 is switched off: its output is replaced by its mean" in page


@pytest.mark.slow
def test_an_image_of_a_journey_says_what_it_is_of(run: Command, tmp_path: Path) -> None:
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    for file in (svg, png):
        done = run("journey", MODEL, TEXT, "--layer", "2", "--width", "1000", "-o", str(file))
        assert done.returncode == 0, done.stderr
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    title, caption = (" ".join("".join(each.itertext()) for each in text) for text in root.findall(f"{SVG}text"))
    assert f"through {MODEL}" in title
    assert caption == f"Model: {MODEL}, revision {BUNDLED[MODEL].digests[WEIGHTS][:12]}. Text: “{TEXT}”"
    left = float(root.find(f"{SVG}g/{SVG}svg").attrib["viewBox"].split()[0])  # type: ignore[union-attr]
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    assert left < 0, "no word stands at the edge"
    assert "@font-face" in (root.findtext(f"{SVG}style") or "")
    pixels = struct.unpack(">II", png.read_bytes()[16:24])
    assert pixels == (pytest.approx(2 * width, abs=2), pytest.approx(2 * height, abs=2))
    assert width == pytest.approx(1000, abs=1)


def test_a_journey_is_compared_with_an_edited_text(run: Command, tmp_path: Path) -> None:
    edited = "Commas, dashes - “quotes” = 😀 שלום."
    done = run(
        "journey", MODEL, TEXT, "--set", "change=text", "--set", f"edited={edited}", "-o", str(tmp_path / "a.html")
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"Journey of “{edited}” through" in page
    assert "The text is edited: " in page


@pytest.mark.parametrize(
    ("file", "message"), [("a.tiff", ".svg, .pdf, .pptx, .html"), ("a", ".png"), ("none/a.svg", "folder")]
)
def test_a_file_that_cannot_be_written_is_refused_before_a_model_is_run(
    file: str, message: str, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asyncio, "run", None)
    done = run("hidden", "no-such-model", TEXT, "-o", str(tmp_path / file))
    assert done.returncode == 2
    assert message in done.stderr


def test_a_layer_that_was_asked_for_is_named_in_every_theme_and_nothing_slides(
    run: Command, drawn_figures: list[FigureSpec], tmp_path: Path
) -> None:
    for theme in ("light", "print"):
        run("similarity", MODEL, TEXT, "--layer", "2", "--theme", theme, "-o", str(tmp_path / "a.svg"))
    light, paper = drawn_figures[0].drawn(LIGHT), drawn_figures[1].drawn(PRINT)
    assert light.layout.paper_bgcolor == LIGHT.paper
    for drawn in (light, paper):
        assert not drawn.layout.sliders
        assert not drawn.frames
        assert ", after layer 1 " in drawn.layout.title.text  # index 2 in hidden_states
    assert paper.layout.font.color == PRINT.text
