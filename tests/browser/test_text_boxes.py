"""No word of a figure is cut off or overlaps another: boxes of text as laid out by Chromium.

Covers `bertviz_core/figures/**/*.py`.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import plotly
import plotly.graph_objects as go
import pytest
from playwright.sync_api import Browser, Page

from bertviz_core.figures.base.export import font_face
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import FAMILY, WIDE, theme_named
from bertviz_core.models.catalog import SPLADE
from bertviz_core.questions.figures import all_figures, drawn_by, subject_of
from bertviz_core.questions.models.training import OpenedTraining
from bertviz_core.questions.opened import OpenedFolder, OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings
from tests.helpers.multi_vector import save_heads as save_token_heads
from tests.helpers.template_corpus import make_corpus, seeded_vectors
from tests.helpers.training_runs import save_run
from tests.pages.labels import LABELLED, QUESTION, save_heads
from ui.session import TEACHING_SIZES

pytestmark = pytest.mark.browser
MODEL = "all-MiniLM-L6-v2"
PLACES = {1400: WIDE, 900: 520, 390: 355}
"""Width of a window -> width of figures in it, at its narrowest place."""
WORD = "python"
TEXTS = {
    "short": "I love my pet python.",
    "17 tokens": "The animal did not cross the wide street because the python was tired.",
    "128 tokens": " ".join(["Attention is all you need in transformers, dear python."] * 11),
    "Arabic": "القطة الصغيرة python جلست على السجادة",
}
SENTENCES = (*TEXTS.values(), "One river.", "Two rivers.")
PAGE_TEXTS: dict[str, tuple[str, ...]] = {
    "models": TEACHING_SIZES,
    "effect-spread": SENTENCES[:3],
    **dict.fromkeys(
        (
            "background",
            "blocks",
            "map",
            "pooling-maps",
            "poolings",
            "query",
            "sentences",
            "vectors",
            "dimensions",
            "bits",
            "prompts",
        ),
        SENTENCES,
    ),
    **dict.fromkeys(("layer-similarity", "text-cosines"), SENTENCES),
    **dict.fromkeys(("sentences-compared", "pair-cosines"), SENTENCES),
    "ranking": SENTENCES,
    "prompt-ranks": tuple(cell for text in SENTENCES[1:] for cell in (SENTENCES[0], text, "1")),
    "thresholds": tuple(
        cell for place, text in enumerate(SENTENCES) for cell in (text, SENTENCES[place - 1], str(place % 2))
    ),
    "gold-cosines": tuple(
        cell for place, text in enumerate(SENTENCES) for cell in (text, SENTENCES[place - 1], str(place))
    ),
    **dict.fromkeys(("training-cka", "training-entropy"), ("One river.", "Two rivers.", "A bank.", "My pet.")),
    "training-scores": ("I love my pet.", "LABEL_0", "The bank.", "LABEL_1", "My language.", "LABEL_1"),
    **dict.fromkeys(
        ("probe", "label-errors"), ("river\tOne river.", "bank\tOne bank.", "river\tTwo rivers.", "bank\tTwo banks.")
    ),
    "word-swaps": ("It {} cold.", "He {} late.", "She {} here, or so I heard."),
    "confusion": ("sport\tHe ran in the rain.", "weather\tA storm is near.", "a label with a long name\tWater boils."),
}
"""Figure -> texts that it shows instead of the default text."""
VARIANTS = (
    ("weights", "statistic", "mean"),
    ("weights", "statistic", "largest"),
    ("weights", "weights_scale", "powers of ten"),
    ("adapter-updates", "update_measure", "stable rank"),
    ("number-formats", "rounded_by", "component"),
    ("memory", "holding", "Training"),
    ("matrix", "cut", "pulled apart"),
    ("matrix", "matrix", "output"),
    ("tokens", "below", "token"),
    ("atlas", "weights", "rollout"),
    ("attention", "weights", "value-weighted"),
    ("sentences", "measure", "euclidean"),
    ("sentences", "order", "clustered"),
    ("pair", "cells", "words"),
    (
        "late-interaction",
        "query_sentence",
        "What is attention in a text with many more tokens than there are rows of one height?",
    ),
    ("lens", "lens", "rank of the original"),
    ("predictions-compared", "view", "surprise"),
    ("predictions-compared", "view", "lens"),
    ("layer-similarity", "layer_measure", "nearest texts shared"),
    ("training-movement", "scale", "even"),
    ("training-movement", "moved_part", "feed-forward"),
    ("training-entropy", "entropy_drawn", "change from the first checkpoint"),
    ("corpus-map", "coloured", "topic"),
    ("corpus-clusters", "clustering", "HDBSCAN"),
)
"""(figure, setting, value) of variants that look different from the defaults."""
ROUNDED = "itself, rounded to float8_e4m3fn"
COMPARED = tuple(cell for line in LABELLED for cell in line.split("\t"))
"""Texts, each followed by its gold label."""
TAGGED = (
    "I O\nlove O\npython B-PER\n. O",
    "Rivers B-LOC\nof I-LOC\na O\nrather O\nlong O\nname O\nwith O\nmany O\nwords O",
)
"""Sentences in CoNLL lines, a word with its gold tag each."""
OTHER = dict.fromkeys(
    (
        *("changes", "change", "cosines", "divergences", "layer-similarity", "text-cosines"),
        *(
            "sentences-compared",
            "pair-cosines",
            "gold-cosines",
            "predictions-compared",
            "words-compared",
            "effects-compared",
            *("attention-compared", "attention-changed", "states-compared"),
        ),
    ),
    ("other", ROUNDED),
)
NEEDED = {
    **OTHER,
    **dict.fromkeys(("query", "ranking", "late-interaction", "three-heads"), ("query_sentence", "What is attention?")),
    "word": ("word", WORD),
    "removal": ("count", "2"),
    "joint-ablation": ("removed_heads", "0.1,1.0"),
    "word-swaps": ("word_pairs", "is / is not"),
    "corpus-probe": ("probe_labels", "topic"),
    "training-scores": ("with_gold", "true"),
}
"""Figure -> required setting."""
PAIRED = (
    *("term-score", "effects", "effects-compared", "effect-spread", "removal", "joint-ablation", "training-text"),
    *("word-shares", "word-bars", "word-curves", "word-pairs", "words-compared"),
)
"""Figures of two texts."""
WORD_HEAD = ("masked-text", "masked-words", "surprise", "lens", "terms", "term-score", "predictions-compared")
LABEL_HEADS = {
    "accuracy": "classes",
    "calibration": "classes",
    "coverage": "classes",
    "gold-labels": "tags",
    "gold-tags": "tags",
    "null-threshold": "answers",
    "adapter-updates": "adapter",
    "answers-compared": "classes",
    "answer-map": "answers",
    "answers": "answers",
    "answers-change": "answers",
    "classes": "classes",
    "classes-change": "classes",
    "next-sentence": "pretraining",
    "ranking": "classes",
    "three-heads": "bge-m3",
    "scores-compared": "classes",
    "slices-compared": "classes",
    "tags": "tags",
    "tags-change": "tags",
    "words-change": "words",
    "word-classes": "topics",
}
"""Figure -> folder of the tiny model with its head."""
MODELS = {**dict.fromkeys(WORD_HEAD, SPLADE), **LABEL_HEADS}
"""Figure -> model, if it differs from the default."""
LONG = "128 tokens"
SHORT_TEXTS = [text for text in TEXTS if text != LONG]
"""Texts that the tiny models read completely."""
BY_TINY_MODEL = (
    "word-curves",
    "word-pairs",
    "word-bars",
    "patched-heads",
    "patched-states",
    "removal",
    "effects",
    "joint-ablation",
)
"""Figures of many runs: for the long text, those of a tiny model have the same words."""
MEASURE = (Path(__file__).parent / "text_boxes.js").read_text(encoding="utf-8")


Request = tuple[str, Options]
"""Name of a model or path of a corpus or training run, and options of the question."""


@cache
def opened(figure: str, model: str, task: str | None) -> OpenedModel | OpenedFolder | OpenedTraining:
    """The model, corpus or training run of a figure; its weights are loaded once for all figures."""
    return subject_of(figure, model, Settings.from_environment(any_folder=True), task)


def request(
    texts: tuple[str, ...],
    settings: tuple[tuple[str, str], ...] = (),
    model: str = MODEL,
    pair: str | None = None,
    task: str | None = None,
) -> Request:
    """Model and options for figures of these texts."""
    return model, Options(texts, pair, task, dict(settings))


def spec_of(name: str, model: str, options: Options) -> FigureSpec:
    """Draw a figure; the models of all figures share their caches."""
    of_folder = name if name.startswith("training-") else "corpus-map"
    subject = opened(of_folder if Path(model).is_absolute() else "tokens", model, options.task)
    return drawn_by(name, subject, options)[0]


def head_request(name: str, text: str) -> Request:
    """Model and options for figures of task heads; answers are searched in the text."""
    model, change = LABEL_HEADS[name], name.endswith("-change")
    if name in ("ranking", "three-heads"):
        return request(SENTENCES, (NEEDED[name],), model)
    if name == "accuracy":
        return request(LABELLED, (("count", "2"),), model)
    if name in ("calibration", "coverage"):
        return request((*COMPARED, "the river", "neutral"), (("with_gold", "true"),), model)
    if name in ("gold-labels", "gold-tags"):
        return request(TAGGED, (), model)
    if name == "null-threshold":
        return request((), (), model)  # the examples
    if name.endswith("-compared"):
        return request(COMPARED, (("other", ROUNDED), ("with_gold", "true")), model)
    if model == "answers":
        edited = (("edited_pair", f"{text} {TEXTS['short']}"),) if change else ()
        return request((QUESTION,), edited, model, text)
    if model == "pretraining":
        return request((text,), (), model, TEXTS["short"], "next-sentence")
    return request((text,), (("edited", f"{text} It is."),) if change else (), model)


def drawings(name: str, texts: Iterable[str], *more: tuple[str, str]) -> Iterator[tuple[str, int, str]]:
    """(text and window, pixels, figure as JSON) of all different drawings of a figure."""
    drawn_texts: set[str] = set()
    settings = (*more, *([NEEDED[name]] if name in NEEDED else []))
    for text in texts:
        given = head_request(name, TEXTS[text]) if name in LABEL_HEADS else None
        if given is None:
            words = (TEXTS[text], *((TEXTS["short"],) if name in ("pair", "word") else ()))
            pair = TEXTS["short"] if name in PAIRED else None
            pair = TEXTS[text].replace(WORD, "river") if name.startswith("patched-") else pair
            model = SPLADE if text == LONG and name in BY_TINY_MODEL else MODELS.get(name, MODEL)
            given = request(PAGE_TEXTS.get(name, words), settings, model, pair)
        spec = spec_of(name, *given)
        new = {
            (window, pixels, drawn)
            for window, pixels in PLACES.items()
            if (drawn := spec.drawn(theme_named("light", pixels)).to_json()) not in drawn_texts
        }
        for window, pixels, drawn in sorted(new):
            yield f"{text}, {window} wide", pixels, drawn
        if not new:  # it does not depend on the text
            return
        drawn_texts |= {drawn for _, _, drawn in new}


@pytest.fixture(scope="module")
def board(browser: Browser) -> Iterator[Page]:
    """A blank page with plotly and the typeface of figures."""
    plotly_js = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.set_content(f"<!DOCTYPE html><style>body{{margin:0}}{font_face()}</style><body></body>")
        page.add_script_tag(content=plotly_js.read_text(encoding="utf-8"))
        page.add_script_tag(content=MEASURE)
        page.evaluate("(family) => loaded(family)", FAMILY)
        yield page


def faults(board: Page, drawn: Iterable[tuple[str, int, str]]) -> dict[str, list[str]]:
    """Case -> faults of its words, if any."""
    measured = "([drawn, pixels]) => faults(JSON.parse(drawn), pixels)"
    return {case: found for case, pixels, json in drawn if (found := board.evaluate(measured, [json, pixels]))}


@pytest.fixture(scope="module", autouse=True)
def heads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tiny models of all task heads in the models folder, and a corpus and a training run for their figures."""
    folder = save_heads(tmp_path_factory.mktemp("heads"))
    save_token_heads(folder / "bge-m3")
    corpus = make_corpus(tmp_path_factory.mktemp("corpora") / "made", 400, seeded_vectors(0))
    MODELS.update({name: str(corpus.path) for name in all_figures() if name.startswith("corpus-")})
    run = save_run(tmp_path_factory.mktemp("runs") / "a run of a rather long name, with many words in it")
    MODELS.update({name: str(run) for name in all_figures() if name.startswith("training-")})
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
        yield


@pytest.mark.parametrize("name", all_figures())
@pytest.mark.slow
def test_no_word_is_cut_or_lies_on_another(name: str, board: Page) -> None:
    whole = name not in LABEL_HEADS or LABEL_HEADS[name] == "answers"
    texts = list(TEXTS) if whole else SHORT_TEXTS
    # Of the figures of a folder, only a search reads the text.
    of_folder = name.startswith(("corpus-", "training-")) and name != "corpus-search"
    assert not faults(board, drawings(name, texts[:1] if of_folder else texts))


@pytest.mark.parametrize(("name", "setting", "value"), VARIANTS)
@pytest.mark.slow
def test_nor_with_other_settings(name: str, setting: str, value: str, board: Page) -> None:
    assert not faults(board, drawings(name, ["short"], (setting, value)))


@pytest.mark.slow
def test_what_is_cut_or_covered_is_seen(board: Page) -> None:
    """The check itself: labels beyond the edge, in a plot that cuts them, and two in one place."""
    note = {"showarrow": False, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
    layouts: dict[str, dict[str, Any]] = {
        "cut": {"annotations": [{**note, "text": "far out", "x": 1.35}]},
        "on the other": {"annotations": [{**note, "text": "one"}, {**note, "text": "two", "yshift": 6}]},
        "": {"annotations": [{**note, "text": "one"}, {**note, "text": "two", "yshift": 20}]},
    }
    for message, layout in layouts.items():
        figure = go.Figure(layout={**layout, "height": 300, "xaxis": {"visible": False}, "yaxis": {"visible": False}})
        found = faults(board, [("", 400, figure.to_json())]).get("", [])
        assert (message in found[0]) if message else not found
    bar = {"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "thickness": 10}
    bar |= {"x": 0.5, "xref": "container", "xanchor": "center", "len": 0.86}
    title = {"text": "value \u00a0", "side": "right"}
    lying = go.Figure(go.Heatmap(z=[[0, 1]], colorbar={**bar, "title": title}))
    drawn_texts = "; ".join(faults(board, [("", 355, lying.to_json())])[""])
    assert "beside their frame" in drawn_texts
    assert "title at its bar" in drawn_texts
    inside = go.Figure(
        go.Scatter(x=[0, 1], y=[0, 1], mode="text", text=["a long word", "b"]), {"xaxis": {"range": [0, 1]}}
    )
    assert any("cut" in each for each in faults(board, [("", 400, inside.to_json())])[""])
