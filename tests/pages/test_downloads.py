"""Downloads of every view: names of files, and a caption with model, revision, text and colours.

Covers `ui/widgets/downloads.py` and `ui/widgets/downloads.py`.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.io as pio
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.base.export import SLIDE
from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, sequential
from bertviz_core.models.catalog import BUNDLED, SPLADE, WEIGHTS
from bertviz_core.models.sources import resolve
from tests.helpers.charts import sent_charts
from tests.helpers.template_corpus import make_corpus, seeded_vectors
from tests.pages.opened import SHELL, opened, with_files, with_probes
from ui.session import settings
from ui.widgets import run_model as answers

MODEL = "all-MiniLM-L6-v2"
TEXT = "“I love my pet python.”"


class View(NamedTuple):
    """A view, and the expected content of its downloads."""

    page: str
    address: dict[str, str]
    names: tuple[str, ...]
    read: str = ""
    colours: str = ""
    state: dict[str, Any] = {}

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.address.get("model", MODEL)

    @property
    def named(self) -> str:
        """The model with its revision, as in a caption."""
        return f"{self.model}, revision {BUNDLED[self.model].digests[WEIGHTS][:12]}."


def of_text(page: str, address: dict[str, str], *names: str, colours: str = "", **state: Any) -> View:
    """A view that depends on the text of the sidebar."""
    return View(page, address, names, TEXT, colours, state)


SIX = "texts, the first “"
OF_HEADS = f"attention-of-layer-2-head-7-{MODEL}", f"attention-of-all-heads-{MODEL}"
"""Files that the attention view, which is not a chart, draws itself."""
VIEWS = {
    "stack": View("overview", {}, (f"overview-stack-{MODEL}",)),
    "tree": View("parameters", {}, (f"parameters-sunburst-{MODEL}",)),
    "layers": View("parameters", {"view": "Layers"}, (f"parameters-layers-{MODEL}",)),
    "components": View("parameters", {"view": "Layers", "split": "components"}, (f"parameters-components-{MODEL}",)),
    "models": View("parameters", {"view": "Compare models"}, (f"parameters-models-side-by-side-{MODEL}-bert-tiny",)),
    "tokens": of_text(
        "tokens",
        {},
        f"tokens-of-the-text-{MODEL}",
        f"tokens-nearest-to-python-{MODEL}",
        f"tokens-of-two-tokenizers-{MODEL}-Small-WordPiece",
    ),
    "values": of_text(
        "representations",
        {"view": "Values", "layer": "2"},
        f"representations-hidden-states-after-layer-2-{MODEL}",
        colours="value, −",
    ),
    "change": of_text(
        "representations",
        {"view": "Change"},
        f"representations-turn-in-each-layer-{MODEL}",
        colours="change of direction, 1 − cosine, 0",
    ),
    "similarity": of_text(
        "representations",
        {"view": "Token similarity"},
        f"representations-token-similarity-after-layer-5-{MODEL}",
        colours="cosine, −1",
    ),
    "input": of_text("representations", {"view": "Input"}, f"representations-input-embedding-{MODEL}"),
    "pooler": of_text(
        "representations", {"view": "Values", "vectors_of": "[CLS] and pooler"}, f"representations-pooler-{MODEL}"
    ),
    "paths": of_text(
        "representations",
        {"view": "Paths"},
        f"representations-token-paths-{MODEL}",
        colours="hidden state, embeddings to",
    ),
    "word": View(
        "representations",
        {"view": "One word, two texts"},
        (f"representations-word-python-{MODEL}",),
        f"{TEXT} and “I love coding in python.”",
    ),
    "matrix": View("heads", {"layer": "2", "head": "5"}, (f"heads-W_q-layer-2-head-5-{MODEL}",), colours="weight, ≤ −"),
    "cell": of_text(
        "heads",
        {"view": "One cell", "layer": "1", "head": "4"},
        "heads-attention-layer-1-head-4-cell-",
        "heads-head-output-layer-1-head-4-",
    ),
    "norms": View("heads", {"weights_of": "all layers"}, (f"heads-norms-of-heads-{MODEL}",), colours="norm, "),
    "map": of_text("attention", {"layer": "2", "head": "7"}, *OF_HEADS, colours="weight, 0 to "),
    "beside": of_text(
        "attention",
        {"layer": "2", "head": "7"},
        *OF_HEADS,
        f"attention-Layer-2-head-7-attention-value-weighted-rollout-value-zeroing-{MODEL}",
        colours="weight, 0 to ",
        attention_beside=True,
    ),
    "sentences": View(
        "sentences", {}, (f"sentences-sentence-cosine-mean-after-layer-5-{MODEL}",), SIX, "cosine, −1 to 1"
    ),
    "poolings": View(
        "sentences", {"view": "Poolings"}, (f"sentences-poolings-{MODEL}", f"sentences-pooling-maps-{MODEL}"), SIX
    ),
    "corpus search": View("corpus", {"corpus_query": "A storm."}, (f"corpus-search-made-{MODEL}",), "“A storm.”"),
    "corpus duplicates": View(
        "corpus", {"view": "Near duplicates", "alike": "0.9"}, (f"corpus-near-duplicates-0.9-made-{MODEL}",)
    ),
    "corpus clusters": View(
        "corpus", {"view": "Clusters", "clusters": "5"}, (f"corpus-clusters-k-means-made-{MODEL}",)
    ),
    "corpus heads": View(
        "corpus", {"view": "Heads", "sample": "50"}, (f"corpus-heads-entropy-made-{MODEL}",), colours="nats, 0 to "
    ),
    "corpus neighbours": View(
        "corpus",
        {"view": "Another model", "neighbour_rows": "50"},
        (f"corpus-neighbours-made-{MODEL}-sre-embedding-model",),
    ),
    "corpus probes": View("corpus", {"view": "Probes", "probe_sample": "200"}, (f"corpus-probes-topic-made-{MODEL}",)),
    "alike": View(
        "sentences",
        {"view": "Token contributions"},
        (f"sentences-token-pairs-mean-after-layer-5-{MODEL}",),
        " and “",
        "adds to the cosine, −",
    ),
    "query": View(
        "sentences",
        {"view": "Query"},
        (f"sentences-nearest-sentences-mean-after-layer-5-{MODEL}",),
        SIX,
        state={"query_sentence": "a snake"},
    ),
    "placed": View("sentences", {"view": "Map"}, (f"sentences-sentence-map-mean-after-layer-5-{MODEL}",), SIX),
    "vectors": View(
        "sentences",
        {"vectors_shown": "true"},
        tuple(f"sentences-{each}-mean-after-layer-5-{MODEL}" for each in ("sentence-cosine", "vectors")),
        SIX,
        "cosine, −1 to 1",
    ),
    "smaller vectors": View(
        "sentences",
        {"view": "Smaller vectors"},
        tuple(f"sentences-{each}-mean-after-layer-5-{MODEL}" for each in ("smaller-vectors", "dimensions")),
        SIX,
    ),
    "masked": of_text(
        "predictions",
        {"model": SPLADE},
        f"predictions-masked-text-{SPLADE}",
        f"predictions-words-at-position-5-{SPLADE}",
    ),
    "surprise": of_text(
        "predictions", {"model": SPLADE, "view": "Surprise"}, f"predictions-surprise-{SPLADE}", colours="nats, 0 to 15"
    ),
    "lens": of_text(
        "predictions", {"model": SPLADE, "view": "Lens"}, f"predictions-lens-{SPLADE}", colours="probability, 0"
    ),
    "terms": of_text(
        "predictions", {"model": SPLADE, "view": "Expanded terms"}, f"predictions-expanded-terms-{SPLADE}"
    ),
    "effects": View(
        "causes", {"pair": "A snake."}, (f"causes-effects-{MODEL}",), f"{TEXT} and “A snake.”", "change, ≤ −"
    ),
    "removal": View(
        "causes",
        {"view": "Several heads", "pair": "A snake.", "count": "2"},
        (f"causes-removal-zero-{MODEL}",),
        f"{TEXT} and “A snake.”",
    ),
    "patched": View(
        "causes",
        {"view": "Patch", "pair": "I love coding in python."},
        (f"causes-patched-hidden-states-{MODEL}",),
        f"{TEXT} and “I love coding in python.”",
        "share, −",
    ),
    "effect-spread": View(
        "causes",
        {
            "view": "Many sentences",
            "effect_list": "my own list",
            "effect_sentences": "A river.\nA bank.",
            "pair": "A snake.",
        },
        (f"causes-spread-zero-{MODEL}",),
        "",
        "cosine",
    ),
    "word-shares": View(
        "words",
        {"pair": "A snake."},
        (f"words-word-shares-leave-one-out-{MODEL}", f"words-word-bars-leave-one-out-{MODEL}"),
        TEXT,
        "cosine, −",
    ),
    "word-curves": View(
        "words", {"view": "Remove word by word", "pair": "A snake."}, (f"words-word-curves-{MODEL}",), TEXT
    ),
    "word-pairs": View(
        "words",
        {"view": "Pairs", "pair": "A snake."},
        (f"words-word-pairs-from-layer-5-{MODEL}",),
        f"{TEXT} and “A snake.”",
        "cosine, −",
    ),
    "score": View(
        "predictions",
        {"model": SPLADE, "view": "Expanded terms", "pair": "A snake."},
        (f"predictions-score-by-word-{SPLADE}",),
        f"{TEXT} and “A snake.”",
    ),
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus."""
    root = tmp_path_factory.mktemp("corpora")
    make_corpus(root / "made", 400, seeded_vectors(0))
    return root


@pytest.fixture(autouse=True)
def _corpora(corpora: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(corpora))
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


def at_view(view: View) -> AppTest:
    """The page with this view open."""
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page(f"../pages/{view.page}.py")
    for name, value in view.address.items():
        at.query_params[name] = value
    for name, value in view.state.items():
        at.session_state[name] = value
    return with_probes(at.run())


def rows(at: AppTest) -> list[dict[str, Any]]:
    """Open every Download of a page; returns the arguments of the buttons of its pictures, without those of slides."""
    for key in {*(each.key for each in sent_charts(at)), "attention_heads", "corpus_map"}:
        at.session_state[f"{key}_files"] = True
    at.run()
    found = [each.proto.json for each in at.get("bidi_component") if each.proto.component_name == "figure_download"]
    return [row for row in map(json.loads, found) if row["medium"] != SLIDE]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.sample(2)
def test_every_figure_has_a_named_file_and_a_caption(view: View) -> None:
    at = at_view(view)
    assert not at.exception
    found = rows(at)
    charts = list(sent_charts(at))
    assert len(found) == len(view.names)
    assert len([row for row in found if row["look"] is None]) == len(charts)
    for row, start in zip(found, view.names, strict=True):
        assert row["filename"].startswith(start)
        assert view.model in row["filename"]
        assert view.named in row["caption"] or f"{view.named[:-1]};" in row["caption"]
        assert (view.read in row["caption"]) if view.read else "“" not in row["caption"]
        assert row["alt"]
        assert row["title"]
        assert row["figure"] is None
    assert f"Colours: {view.colours}" in found[0]["caption"] if view.colours else "Colours:" not in found[0]["caption"]
    labels = [button.label for button in at.get("download_button")]
    assert labels.count("HTML") == len(charts) + (view.page == "attention")
    assert labels.count("CSV") >= len(charts)
    assert labels.count("LaTeX") == labels.count("Markdown") >= len(charts)


def test_the_map_of_a_corpus_has_its_files_in_sight_too() -> None:
    at = at_view(View("corpus", {"view": "Map"}, ()))
    (row,) = rows(at)
    assert row["filename"].startswith(f"corpus-map-made-pca-{MODEL}")
    assert {"HTML", "CSV", "LaTeX"} <= {button.label for button in at.get("download_button")}


def test_products_below_a_matrix_are_a_file_of_their_own_that_names_the_text() -> None:
    matrix, products = rows(at_view(View("heads", {"products_shown": "true", "layer": "1"}, ())))
    assert matrix["filename"].startswith(f"heads-W_q-layer-1-head-0-{MODEL}")
    assert TEXT not in matrix["caption"]
    assert products["filename"].startswith(f"heads-W_q-products-layer-1-{MODEL}")
    assert TEXT in products["caption"]
    assert "Colours: value, ≤ −" in products["caption"]


def test_several_models_are_named_with_their_revisions() -> None:
    (row,) = rows(at_view(VIEWS["models"]))
    for name in ("bert-tiny", "bert-large-uncased", "albert-base-v2"):
        assert f"{name}, revision {resolve(name, settings()).revision}" in row["caption"]


@pytest.mark.parametrize(("name", "theme"), [("light", LIGHT), ("dark", DARK), ("print", PRINT)])
def test_a_theme_is_chosen_once_and_the_figure_is_drawn_in_it(name: str, theme: Any) -> None:
    at = with_files(opened("heads", view="One cell"), "heads_cell")
    at.button_group(key="heads_cell_theme").set_value(name).run()
    assert not at.exception
    found = rows(at)
    assert [row["paper"] for row in found] == [theme.paper] * 2
    assert [row["text"] for row in found] == [theme.text] * 2
    for row in found:
        figure = pio.from_json(row["figure"])
        assert figure.layout.paper_bgcolor == theme.paper
        assert figure.layout.font.color == theme.text


def test_a_scale_is_that_of_the_theme_and_the_numbers_are_the_pages() -> None:
    at = with_files(opened("representations", view="Change"), "representations_change")
    at.button_group(key="representations_change_theme").set_value("dark").run()
    (row,) = rows(at)
    figure, shown = pio.from_json(row["figure"]), pio.from_json(sent_charts(at)[0].spec)
    assert [list(step) for step in figure.data[0].colorscale] == sequential(DARK)
    assert [list(step) for step in shown.data[0].colorscale] == sequential(LIGHT)
    np.testing.assert_array_equal(figure.data[0].z, shown.data[0].z)


def test_the_choice_is_kept_on_another_page() -> None:
    at = with_files(opened("parameters", view="Layers"), "parameters_layers")
    at.button_group(key="parameters_layers_theme").set_value("print").run()
    at.switch_page("../pages/overview.py").run()
    (row,) = rows(at)
    assert at.button_group(key="overview_stack_theme").value == "print"
    assert row["text"] == PRINT.text


def test_files_look_as_the_page_does_until_another_theme_is_chosen() -> None:
    at = with_files(opened("parameters", view="Layers"), "parameters_layers")
    themes = at.button_group(key="parameters_layers_theme")
    assert themes.value == themes.options[0] == "as on the page"
    texts = {"as on the page": LIGHT.text, "light": LIGHT.text, "dark": DARK.text, "print": PRINT.text}
    assert set(themes.options) == set(texts)
    for choice, colour in texts.items():
        at.button_group(key="parameters_layers_theme").set_value(choice).run()
        (row,) = rows(at)
        assert row["text"] == colour


def test_markup_in_a_text_stays_text() -> None:
    evil = "<img src=x onerror=alert(1)> **b**\u202e"
    (row,) = rows(opened("representations", text=evil))
    assert "“<img src=x onerror=alert(1)> **b**U+202E”" in row["caption"]
