"""Results of the library: numbers and figures as on the pages, arrays as in transformers, one message per refusal.

Covers `bertviz_core/api/drawing.py`, `bertviz_core/api/results/*.py`, `bertviz_core/api/corpus.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest
import torch
from plotly.offline import get_plotlyjs
from safetensors.numpy import load_file
from transformers import AutoModel, AutoTokenizer

from bertviz_core import BertvizError, Model, open_corpus, open_model
from bertviz_core.api.results.base import Result
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.tables.lines import printable_token
from tests.helpers.charts import decoded_arrays
from tests.pages.opened import drawn, metrics, opened
from tests.pages.test_attention import table_of

MODEL, SPLADE, CLASSIFIER = "all-MiniLM-L6-v2", "splade-tiny", "models/my-classifier"
TEXT, PAIR = "Sinan loves a beautiful day", "He likes the weather."
NEWS, ROUNDED = "corpora/news", "itself, rounded to float8_e4m3fn"
PET = "I love my pet python."
HOSTILE = "<b onclick=alert(1)>x</b> $a$ *y*"


@pytest.fixture(scope="module", name="model")
def opened_model() -> Model:
    return open_model(MODEL)


@pytest.fixture(autouse=True)
def place(in_workplace: Path) -> Path:
    return in_workplace


@pytest.mark.slow
def test_every_prediction_draws_and_tabulates_itself() -> None:
    views: list[dict[str, Any]] = [
        {"mask": [2]},
        {"view": "surprise"},
        {"view": "lens"},
        {"view": "terms", "pair": TEXT},
    ]
    for name, options in [(CLASSIFIER, {}), *((SPLADE, view) for view in views)]:
        answer = open_model(name).predict(PET, **options)
        assert isinstance(answer.figure(), go.Figure)
        assert len(answer.to_pandas()) > 0


@pytest.mark.slow
def test_a_search_and_its_corpus_show_themselves() -> None:
    news = open_corpus(NEWS)
    hits = news.search("money and banks", k=3, where="topic=economy")
    assert hits.to_pandas()["topic"].tolist() == ["economy", "economy"]
    assert (news.rows, news.model, news.vectors.shape) == (5, MODEL, (5, 384))
    for figure in (hits.figure(), news.figure(), news.figure("corpus-duplicates")):
        assert isinstance(figure, go.Figure)


def decoded(figure: go.Figure) -> Any:
    """Data of a figure, with typed arrays as lists."""
    found = decoded_arrays(json.loads(figure.to_json()))
    return json.loads(json.dumps([found["data"], found["layout"]], sort_keys=True))


def on_page(page: str, **query: str) -> Any:
    """Data of the only chart of a page."""
    found = drawn(opened(page, model=MODEL, **query))
    return json.loads(json.dumps([found["data"], found["layout"]], sort_keys=True))


@pytest.mark.slow
def test_numbers_and_figures_are_the_page_s(model: Model) -> None:
    ledger = model.parameters()
    assert f"{ledger.total:,}" in metrics(opened("parameters", model=MODEL)).values()
    values = {"view": "Values", "layer": "embeddings", "first": "7", "window": "32"}
    run = model.trace(TEXT)
    shown = on_page("representations", text=TEXT, **values)
    assert decoded(run.figure("hidden", layer=0, first=7, window=32)) == shown
    head = table_of(opened("attention", model=MODEL, text=TEXT, layer="2", head="7")).iloc[:, 1:]
    np.testing.assert_allclose(head, run.attention(2, 7), atol=1e-6)


def test_arrays_are_transformers_own(model: Model) -> None:
    folder = bundled_folder()
    own = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        ids = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
        outputs = own(**ids, output_attentions=True, output_hidden_states=True)
    run = model.trace(TEXT)
    states = np.stack([state[0].numpy() for state in outputs.hidden_states])
    np.testing.assert_allclose(run.hidden_states, states, atol=1e-5)
    np.testing.assert_allclose(run.last_hidden_state, outputs.last_hidden_state[0], atol=1e-5)
    np.testing.assert_allclose(run.pooler_output, outputs.pooler_output[0], atol=1e-5)
    np.testing.assert_allclose(run.attention(3), outputs.attentions[3][0], atol=1e-5)
    np.testing.assert_array_equal(run.attention(3, 5), run.attention(3)[5])
    np.testing.assert_array_equal(run.to_pandas(3, 5), run.attention(3, 5))
    np.testing.assert_array_equal(run.to_pandas(), run.last_hidden_state)
    weights = load_file(folder / "model.safetensors")
    heads = model.heads(2)
    whole = "encoder.layer.2.attention.self.query.weight"
    np.testing.assert_array_equal(np.concatenate(heads.query), weights[next(name for name in weights if whole in name)])
    assert (heads.key.shape, heads.value.shape, heads.output.shape) == ((12, 32, 384), (12, 32, 384), (12, 384, 32))


@pytest.mark.slow
def test_sums_come_out() -> None:
    bert = open_model("bert-base-uncased").parameters()
    assert bert.total == sum(bert.components.values()) == bert.to_pandas()["numel"].sum() == 109_482_240
    sizes = open_model("bert-base-uncased").architecture().to_pandas().set_index("name")["value"]
    assert (sizes["num_hidden_layers"], sizes["num_attention_heads"], sizes["vocab_size"]) == (12, 12, 30_522)
    report = open_model(MODEL).load_report("sequence-classification", labels=7)
    assert report.new == ("classifier.weight", "classifier.bias")
    assert report.fraction_from_file == pytest.approx(22_713_216 / (22_713_216 + 7 * 384 + 7))
    assert report.unused == ()
    assert set(report.to_pandas().query("status == 'new'")["name"]) == set(report.new)


@pytest.mark.slow
def test_shares_and_effects_are_named_as_the_page_names_them(model: Model) -> None:
    effects, words = model.effects(TEXT, PAIR), model.words(TEXT, PAIR)
    first = effects.to_pandas().iloc[0]
    assert effects.heads[int(first["layer"]), int(first["head"])] == pytest.approx(first["effect"])
    assert abs(first["effect"]) == pytest.approx(np.nanmax(np.abs(effects.heads)))
    assert effects.clean == pytest.approx(words.clean, abs=1e-5)
    assert words.to_pandas()["word"].tolist() == list(words.words) == TEXT.split()
    assert words.shares.shape == (5,)
    assert effects.feed_forward is not None
    assert effects.layers is not None
    assert effects.feed_forward.shape == effects.layers.shape == (6,)
    labelled = open_model(CLASSIFIER)
    answer = labelled.predict(PET)
    assert sum(answer.probabilities.values()) == pytest.approx(1)
    assert isinstance(answer.data, ClassPrediction)
    logit = dict(zip(answer.data.labels, answer.data.logits, strict=True))["neutral"]
    assert labelled.effects(PET, target="class:neutral").clean == pytest.approx(logit, abs=1e-5)


def test_the_nearest_are_those_with_the_greatest_cosine(model: Model) -> None:
    sentences = model.sentences(["A cat.", "A stock market.", "A kitten."])
    nearest = sentences.nearest("A cat.", k=2)
    np.testing.assert_allclose(nearest.to_pandas()["cosine"], sentences.similarity[0, [0, 2]], atol=1e-5)
    assert nearest.to_pandas().index.tolist() == [0, 2]
    assert nearest.to_json()["hits"][1]["text"] == "A kitten."
    assert isinstance(nearest.figure(), go.Figure)


def results(model: Model) -> list[Result[object]]:
    """One result of every type."""
    sentences = model.sentences([HOSTILE, PAIR, TEXT])
    return [
        model.parameters(),
        model.architecture(),
        model.load_report(),
        model.tokens(HOSTILE),
        model.trace(HOSTILE),
        model.heads(0),
        sentences,
        sentences.nearest(HOSTILE),
        open_model(SPLADE, "masked-lm").predict(HOSTILE),
        model.effects(HOSTILE, PAIR),
        model.words(HOSTILE, PAIR),
        open_corpus("corpora/news").search(HOSTILE),
        open_corpus("corpora/news"),
    ]


def test_every_result_shows_itself_and_nothing_a_user_wrote_is_read_as_html(model: Model) -> None:
    for result in results(model):
        shown = result._repr_html_()
        assert shown.count("<table") == 1
        assert "<b " not in shown
        assert "</b>" not in shown
        assert "mathjax_ignore" in shown
        assert len(repr(result).splitlines()) > 3
        assert isinstance(result.to_pandas(), pd.DataFrame)
        assert json.loads(json.dumps(result.to_json())) == result.to_json()
        assert isinstance(result.figure(theme="dark"), go.Figure)


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", ["atlas", "long", "cell", "mix", "norms", "paths", "input", "pooler", "similarity"])
def test_every_figure_of_a_run_can_be_drawn(name: str, model: Model) -> None:
    figure = model.trace(TEXT).figure(name, theme="print", width=500, height=300)
    assert (figure.layout.width, figure.layout.height) == (500, 300)
    figure.update_layout(title="mine")
    assert model.trace(TEXT).figure(name).layout.title.text != "mine"


def test_a_figure_of_a_notebook_is_kept_without_plotlys_code(model: Model) -> None:
    """The renderer that docs/library.md recommends puts the code into the page once, since plotly 6.1."""
    figure = model.parameters().figure()
    page = pio.renderers["notebook"].to_mimebundle(figure.to_dict())["text/html"]
    assert "plotly-graph-div" in page
    assert get_plotlyjs() not in page


def test_any_figure_of_the_dashboard_can_be_drawn(model: Model) -> None:
    figure = model.figure("word", "The bank of the river.", "The bank lends money.", word="bank")
    assert "bank" in figure.layout.title.text
    assert isinstance(model.figure("parameters", depth=2, form="treemap"), go.Figure)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: open_model("no-such-model"), "no-such-model"),
        (lambda m: open_model(MODEL, "dancing"), "There is no task 'dancing'; choose base"),
        (lambda m: open_model("bert-base-uncased").trace(TEXT), "bert-base-uncased"),
        (lambda m: m.trace(TEXT).attention(9), "There is no layer '9' in 'all-MiniLM-L6-v2'; give layer 0 to 5"),
        (lambda m: m.trace(TEXT).attention(0, 12), "give head 0 to 11"),
        (lambda m: m.trace(TEXT).figure(layer=9), "give layer 0 to 5"),
        (lambda m: m.trace(TEXT).to_pandas(7), r"give layer 0 \(the embedding output\) to layer 6"),
        (lambda m: m.trace(TEXT).figure("map"), "no figure 'map' of this result. Choose attention"),
        (lambda m: m.trace(TEXT).figure("atlass"), "no figure 'atlass' of this result"),
        (lambda m: m.figure("atlass"), "There is no figure 'atlass'. Did you mean 'atlas'"),
        (lambda m: m.trace(TEXT).figure(colour="red"), "has no option 'colour'; those it has: layer"),
        (lambda m: m.trace(TEXT).figure(theme="pink"), "There is no theme 'pink'; choose light, dark, print"),
        (lambda m: m.figure("parameters", depth=-1), "There is no depth=-1 here"),
        (lambda m: m.heads(6), "give layer 0 to 5"),
        (lambda m: m.sentences("one text"), "a list of texts is needed"),
        (lambda m: m.sentences([TEXT], pooling="sum"), "There is no pooling 'sum'"),
        (lambda m: m.sentences([TEXT]).nearest(" "), "The query is blank"),
        (lambda m: m.predict(TEXT), "no task head"),
        (lambda m: m.predict(TEXT, view="words", task="masked-lm"), MODEL),
        (lambda m: m.effects(TEXT), "No target was named"),
        (lambda m: m.effects(TEXT, PAIR, kind="half"), "There is no kind=half; choose zero"),
        (lambda m: m.words(TEXT, PAIR, method="guess"), "There is no method 'guess'; choose leave-one-out"),
        (lambda m: open_corpus("no-corpus"), "no-corpus"),
        (lambda m: open_corpus("corpora/news").search("money", k=0), "1"),
    ],
)
def test_what_a_caller_can_cause_is_one_sentence(ask: Any, message: str, model: Model) -> None:
    with pytest.raises(BertvizError, match=message) as refused:
        ask(model)
    assert "--" not in str(refused.value).partition("(load-report ")[0]  # the name of a command
    assert "\n" not in str(refused.value)


def test_a_long_text_is_told_and_a_long_list_is_cut(model: Model) -> None:
    run = model.trace("word " * 600)
    assert run.notices
    assert all(notice in repr(run) for notice in run.notices)
    assert "more lines" in repr(run)
    assert printable_token("word") in repr(run)
