"""A link restores the values of the page's widgets; typed texts are included only on request.

Covers `ui/session.py`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.helpers.hostile_addresses import unknown_names
from tests.helpers.template_corpus import make_corpus, seeded_vectors
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.training_runs import save_run
from tests.pages.opened import opened, visible_text
from ui import session, share
from ui.address.registry import NUMBERS, ROWS
from ui.widgets import run_model as answers

pytestmark = pytest.mark.usefixtures("models_dir")

KINDS = (
    "selectbox",
    "multiselect",
    "slider",
    "select_slider",
    "number_input",
    "button_group",
    "toggle",
    "text_input",
    "text_area",
)
LONG = "The quick brown fox jumps over the lazy dog. " * 9
PAIR = {"text": "The bank lent me money.", "pair": "It stood by the river."}

LABELS = {
    "log and movement": "nothing",
    "[CLS]": "cls",
    "dot product": "dot",
    "distance (tokens)": "distance",
    "cosine to its own input": "input",
    "turn in each layer": "change",
    "vector length": "length",
    "Euclidean": "euclidean",
    "PCA": "pca",
    "UMAP": "umap",
    "principal components": "pca",
}
"""Value in the address of an option that a widget shows under a label -> the option."""
OWN_WORDS = {"pooling", "corpus_pooling", "measure", "methods"}
"""Choices with special options on a page: some depend on the checkpoint, others allow several."""
CONDITIONAL = {"model", "other", "view", "placed", "bfloat16"}
"""Two widgets on all pages; on most; only with umap installed; only for long lists on some processors."""
COMPARED = {"view": "Compare with base", "other": "itself, rounded to float8_e4m3fn"}
VIEWS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("overview", {"model": "bert-tiny"}, {}),
    (
        "parameters",
        {"form": "treemap", "depth": 2, "module": "encoder.layer.3", "search": "weight", "rows": "Layer 0"},
        {},
    ),
    ("parameters", {"model": "bert-base-uncased", "view": "Layers", "task": "masked-lm"}, {}),
    ("parameters", {"view": "Layers", "split": "components"}, {}),
    ("parameters", {"view": "Compare models", "models": ["bert-tiny", "bert-base-uncased"]}, {}),
    ("architecture", {"find": "query", "levels": 2, "one_by_one": "true", "looked_at": "pooler.dense"}, {}),
    ("architecture", {"view": "One layer", "layer": 4}, {}),
    ("architecture", {"view": "Cost", "holding": "Training"}, {}),
    ("checkpoint", {"load_task": "question-answering", "key_status": "new", "key_search": "weight"}, {}),
    ("checkpoint", {"load_task": "sequence-classification", "labels": 3}, {}),
    (
        "checkpoint",
        {"view": "Weights", "statistic": "largest", "tensor": "pooler.dense.bias", "weights_scale": "powers of ten"},
        {},
    ),
    (
        "checkpoint",
        {"view": "Fewer bits", "rounded_by": "component", "formats": ["int8", "nf4"], "rounded_for": "weights alone"},
        {},
    ),
    ("checkpoint", {**COMPARED, "scale": "even", "change_order": "both by change"}, {}),
    ("checkpoint", {**COMPARED, "changed": "pooler.dense.bias"}, {}),
    (
        "checkpoint",
        {"view": "Compare with base", "compared": "behaviour with the text", "other": "all-MiniLM-L6-v2"},
        {},
    ),
    (
        "checkpoint",
        {
            **COMPARED,
            "compared": "layers over many texts",
            "compared_list": "my own list",
            "layer_measure": "nearest texts shared",
        },
        {"compared_texts": "A cat.\nA dog.\nA river.\nA bank.\nA tree."},
    ),
    (
        "checkpoint",
        {
            "model": "classes",
            "view": "Compare with base",
            "compared": "answers to many texts",
            "other": "itself, rounded to bfloat16",
            "answers_from": "my own list",
            "answers_listed": "all",
            "answers_label": "LABEL_1",
            "answers_by": "a word",
            "answers_word": "cat",
            "answers_slice": "with 'cat'",
        },
        {"answered_texts": "LABEL_0\tA cat.\nLABEL_1\tA dog.\nLABEL_2\tA river."},
    ),
    (
        "checkpoint",
        {
            "view": "Training run",
            "training": "my-run",
            "moved_from": "the previous checkpoint",
            "moved_part": "attention",
            "first_checkpoint": "checkpoint-4",
            "second_checkpoint": "checkpoint-6",
        },
        {},
    ),
    ("checkpoint", {"view": "Training run", "training": "my-run", "followed": "the text"}, PAIR),
    (
        "checkpoint",
        {"view": "Training run", "training": "my-run", "followed": "labelled texts", "answers_from": "my own list"},
        {"answered_texts": "LABEL_0\tA cat.\nLABEL_1\tA dog.\nLABEL_1\tA river."},
    ),
    (
        "checkpoint",
        {
            "view": "Training run",
            "training": "my-run",
            "followed": "a list of texts",
            "compared_list": "my own list",
            "entropy_drawn": "change from the first checkpoint",
        },
        {"compared_texts": "A cat.\nA dog.\nA river.\nA bank.\nA tree."},
    ),
    ("journey", {"rests_on": "true", "target": "cosine"}, PAIR),
    (
        "journey",
        {"model": "splade-tiny", "rests_on": "true", "target": "word", "target_at": 2},
        {"target_word": "snake"},
    ),
    ("tokens", {"below": "position", "token": 3, "tokenizer": "bert-base-uncased"}, {}),
    ("representations", {"view": "Values", "layer": 2, "window": 32, "first": 64}, {}),
    ("representations", {"view": "Values", "vectors_of": "[CLS] and pooler"}, {}),
    ("representations", {"view": "Change", "map": "cosine to its own input"}, {}),
    ("representations", {"view": "Change", "map": "change", "other": "itself, rounded to bfloat16"}, {}),
    ("representations", {"view": "Token similarity", "tokens": [3, 40]}, {"text": LONG}),
    ("heads", {"layer": 2, "head": 5, "matrix": "value", "cut": "one matrix"}, {}),
    ("heads", {"products_shown": "true", "matrix": "key"}, {}),
    ("heads", {"weights_of": "all layers"}, {}),
    ("heads", {"view": "One cell", "layer": 3, "head": 7, "query": 2, "key": 1}, {}),
    ("attention", {"layer": 2, "head": 3, "words": "true", "hide_special": "true", "hide_punctuation": "true"}, {}),
    ("attention", {"weights": "value-weighted", "part": "A to B"}, PAIR),
    ("attention", {"weights": "rollout", "layer": 4}, {}),
    (
        "attention",
        {"other": "itself, rounded to bfloat16", "layer": 3, "head": 2, "other_layer": 1, "other_head": 4},
        PAIR,
    ),
    (
        "sentences",
        {"example": "negation", "pooling": "[CLS]", "layer": 3, "measure": "dot product", "order": "clustered"},
        {},
    ),
    ("sentences", {"pooling": "[CLS]", "layer": 3, "scaled": "true"}, {}),
    ("sentences", {"view": "Token contributions", "cells": "words"}, {}),
    (
        "sentences",
        {"view": "Two models", "other": "sre-embedding-model", "two_models_of": "pairs with gold similarity"},
        {"gold_pairs": "A cat.\tA dog.\t3\nA river.\tA bank.\t2\nA tree.\tA trees.\t5"},
    ),
    (
        "sentences",
        {
            "view": "Two models",
            "other": "sre-embedding-model",
            "two_models_of": "pairs with gold similarity",
            "gold_from": "file",
        },
        {},
    ),
    ("sentences", {"view": "Two models", "other": "sre-embedding-model", "example": "negation"}, {}),
    ("sentences", {"view": "Late interaction", "example": "negation"}, {"query_sentence": "a pet"}),
    ("sentences", {"view": "Map"}, {}),
    ("sentences", {"vectors_shown": "true", "vectors_in": "float16"}, {}),
    ("sentences", {"source": "file"}, {}),
    ("predictions", {"model": "splade-tiny", "mask": "2,4", "position": 3}, {}),
    ("predictions", {"model": "splade-tiny", "view": "Lens", "other": "itself, rounded to bfloat16"}, {}),
    ("predictions", {"model": "splade-tiny", "view": "Change a word", "guess": 3}, {"edited": "I hate my pet python."}),
    ("predictions", {"model": "splade-tiny", "view": "Lens", "lens": "entropy", "layer": "embeddings"}, {}),
    ("predictions", {"model": "splade-tiny", "view": "Expanded terms", "terms": "the first text", "shown": 3}, PAIR),
    ("causes", {"changed_head": "layer 2, head 7"}, PAIR),
    ("causes", {"other": "itself, rounded to bfloat16"}, PAIR),
    ("causes", {"model": "splade-tiny", "target": "word", "target_at": 2}, {"target_word": "snake"}),
    ("causes", {"target": "state", "target_layer": "after layer 2", "target_at": 3, "target_dimension": 7}, {}),
    ("causes", {"target": "direction", "target_at": 3}, {"direction_from": "Bad.", "direction_to": "Good."}),
    ("causes", {"view": "Several heads", "count": 3, "removed_for": "its mean"}, PAIR),
    (
        "causes",
        {"view": "Several heads", "which": "my choice", "removed_heads": ["layer 0, head 1", "layer 2, head 3"]},
        PAIR,
    ),
    ("causes", {"view": "Patch", "patched": "heads"}, PAIR),
    (
        "causes",
        {"view": "Many sentences", "effect_list": "my own list", "removed_for": "its mean"},
        {"effect_sentences": "A river.\nA bank.", **PAIR},
    ),
    ("causes", {"view": "Many sentences", "effect_count": "25"}, PAIR),
    ("words", {"units": "tokens", "in_place": "nothing"}, PAIR),
    ("words", {"method": "integrated gradients"}, PAIR),
    ("words", {"other": "itself, rounded to bfloat16"}, PAIR),
    ("words", {"model": "tags", "target_at": 2, "target_class": "LABEL_1", "measure": "margin"}, {}),
    ("causes", {"model": "tags", "target": "cosine"}, PAIR),
    ("words", {"model": "splade-tiny", "target": "word", "target_at": 2}, {"target_word": "snake"}),
    ("words", {"view": "Remove word by word", "methods": ["leave-one-out", "gradient x input"]}, PAIR),
    (
        "words",
        {
            "view": "Classes",
            "model": "classes",
            "classes_by": "probability",
            "units": "tokens",
            "classes": ["LABEL_2", "LABEL_0"],
        },
        PAIR,
    ),
    ("words", {"view": "Pairs", "layer": 3}, PAIR),
    ("corpus", {"corpus": "made", "hits": 5, "hit": 2}, {"corpus_query": "A storm.", "where": "source=news"}),
    ("corpus", {"view": "Map", "coloured": "topic"}, {}),
    ("corpus", {"view": "Near duplicates", "alike": "0.9", "group": 2}, {}),
    ("corpus", {"view": "Clusters", "clustering": "k-means", "clusters": 6, "cluster": 2}, {}),
    (
        "corpus",
        {"view": "Heads", "measure": "distance (tokens)", "part_column": "source", "part": "news", "sample": "50"},
        {},
    ),
    ("corpus", {"view": "Probes", "probe_labels": "place", "probe_sample": "200", "corpus_pooling": "max"}, {}),
    ("corpus", {"view": "About", "first_row": 5}, {}),
]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two corpora."""
    root = tmp_path_factory.mktemp("corpora")
    for name in ("another", "made"):
        make_corpus(root / name, 400, seeded_vectors(0))
    return root


@pytest.fixture(autouse=True)
def _corpora(corpora: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    models: Path = request.getfixturevalue("models_dir")
    save_tiny_head("bert", "sequence-classification", models / "classes", num_labels=3)
    save_tiny_head("bert", "token-classification", models / "tags", num_labels=3)
    save_run(models / "my-run")
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(corpora))
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


BY_POSITION = {
    "query_token": "query",
    "key_token": "key",
    "position_token": "position",
    "guess_token": "guess",
    "target_at_token": "target_at",
    "mask": "mask",
}
"""Key of a list of tokens -> its name in the address, which contains the position and never the word."""


def shown(at: AppTest) -> dict[str, Any]:
    """Name in the address -> value of the widget, for every widget bound to the address."""
    found = {name: at.session_state[name] for name in ("view", "model", "other") if name in at.session_state}
    for kind in KINDS:
        for widget in at.get(kind):
            name = getattr(widget.proto, "query_param_key", "") or BY_POSITION.get(widget.key, "")
            if name:
                found[name] = ",".join(map(str, widget.value)) if name == "mask" else widget.value
    return found


def unlike_its_parameter(at: AppTest, page: str, but: set[str]) -> list[str]:
    """Choices with options that their parameter lacks, or with another default."""
    options = {row.param.key: row.param.options for row in ROWS if page in row.pages and row.param.key not in but}
    faults = []
    for widget in (*at.selectbox, *at.get("button_group")):
        known = options.get(widget.proto.query_param_key, ())
        offered = [LABELS.get(label, label) for label in widget.options]
        if known and not (set(offered) <= set(known) and offered[0] == known[0] == written(widget.value)):
            faults.append(f"{widget.key}: {offered} of {known}, {widget.value}")
    return faults


def written(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [written(each) for each in value]
    return str(value).lower() if isinstance(value, bool) else LABELS.get(value, str(value))


@pytest.mark.parametrize(("page", "query", "texts"), VIEWS, ids=[f"{page} {' '.join(q)}" for page, q, _ in VIEWS])
@pytest.mark.slow
def test_a_link_restores_every_control(page: str, query: dict[str, Any], texts: dict[str, str]) -> None:
    values = {name: [*map(str, value)] if isinstance(value, list) else str(value) for name, value in query.items()}
    at = opened(page, **values, **texts)  # type: ignore[arg-type]  # a list is a repeated parameter
    assert not at.exception
    numbers = {each.proto.query_param_key for each in (*at.slider, *at.number_input)}
    assert numbers <= NUMBERS | {""}, "a number that nonsense in an address could end the page with"
    assert not unknown_names(at)
    assert not unlike_its_parameter(at, page, set(query) | OWN_WORDS)
    found = shown(at)
    assert {name: written(found.get(name)) for name in query} == {name: written(value) for name, value in query.items()}
    covered = {name for each, named, _ in VIEWS if each == page for name in named} | CONDITIONAL
    assert set(found) <= covered, "a control that no link above tries"
    folds = [each.proto.query_param_key for each in at.expander]
    for key in folds:
        at.query_params[key] = "true"
    again = opened(page, **at.query_params, **texts)
    assert [each.proto.query_param_key for each in again.expander if each.proto.expanded] == folds


def test_a_link_restores_what_was_typed() -> None:
    words = {"word": "bank", "first_text": "The bank lends.", "second_text": "The river bank."}
    at = opened("representations", view="One word, two texts", **words, **PAIR)
    assert {each.key: each.value for each in at.text_input} == words
    assert (at.session_state["text"], at.session_state["pair"]) == (PAIR["text"], PAIR["pair"])
    assert set(at.query_params) == {"view"}
    places = {"first_sentence": "2", "second_sentence": "1"}
    at = opened("sentences", view="Token contributions", sentences="One.\nTwo.\nThree.", **places)
    assert at.text_area(key="sentences").value == "One.\nTwo.\nThree."
    assert [box.value for box in at.selectbox if box.key in places] == [2, 1]


@pytest.mark.parametrize("value", ["-1", "1e9"])
def test_a_place_that_is_no_number_is_left_out(value: str) -> None:
    at = opened("sentences", view="Token contributions", first_sentence=value)
    assert not at.exception
    assert "first_sentence" not in at.query_params


def test_a_link_into_a_running_session_replaces_its_text() -> None:
    at = opened("tokens", text="First text.")
    at.query_params["text"] = "Second text."
    assert at.run().session_state["text"] == "Second text."
    assert "text" not in at.query_params


def carried(at: AppTest, include: bool) -> list[tuple[str, str]]:
    """Parameters of the open panel's link."""
    at.session_state["share_open"] = True
    at.run()
    at.toggle(key=share.INCLUDE).set_value(include).run()
    assert not at.exception
    (found,) = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith("share_link")]
    return [(name, value) for name, value in json.loads(found.json)["carried"]]


def test_the_text_is_in_the_link_only_when_asked() -> None:
    at = opened("tokens", **PAIR)
    assert carried(at, include=False) == []
    assert "left out, because servers and browsers log addresses" in " ".join(each.value for each in at.caption)
    assert carried(at, include=True) == list(PAIR.items())
    assert "Servers and browsers log addresses" in " ".join(each.value for each in at.caption)


def test_a_link_names_the_corpus_though_it_is_the_first() -> None:
    at = opened("corpus")
    assert "corpus" not in at.query_params
    assert carried(at, include=False) == [("corpus", at.selectbox(key="corpus").value)]


@pytest.mark.parametrize(
    ("ancestors", "words"),
    [
        (("'self'",), "No other site may show the frame of this server"),
        (("'none'",), "No other site may show the frame of this server"),
        (("'self'", "https://*.lms.example"), "The frame works on pages of https://*.lms.example."),
    ],
)
def test_the_panel_says_whose_pages_may_show_the_frame(ancestors: tuple[str, ...], words: str) -> None:
    assert visible_text(share.frame_words(ancestors)).startswith(words)


@pytest.mark.slow
def test_what_everyone_begins_with_is_not_carried() -> None:
    assert carried(opened("representations", view="One word, two texts"), include=True) == []
    assert carried(opened("sentences"), include=True) == []
    assert carried(opened("tokens", text=f"{session.DEFAULT_TEXT} "), include=True) == [
        ("text", "I love my pet python. ")
    ]


def test_an_edited_text_is_carried_once_it_is_another() -> None:
    at = opened("predictions", model="splade-tiny", view="Change a word")
    assert carried(at, include=True) == []
    at.text_area(key="edited").set_value("I hate my pet python.").run()
    assert carried(at, include=True) == [("edited", "I hate my pet python.")]


def test_typed_words_are_carried_on_their_own_page_alone() -> None:
    words = {"sentences": "One.\nTwo.\nThree.", "first_sentence": "2"}
    at = opened("sentences", view="Token contributions", **words)
    assert carried(at, include=True) == [*words.items(), ("second_sentence", "1")]
    at.switch_page("../pages/tokens.py")
    assert carried(at, include=True) == []


@pytest.mark.slow
def test_a_text_too_long_for_an_address_is_told_in_one_sentence() -> None:
    at = opened("tokens", text="word " * 400)
    assert carried(at, include=True) == []
    (warning,) = at.warning
    assert "would make the address 2,005 characters longer" in warning.value
    assert carried(opened("tokens", text="word " * 300), include=True) != []


@pytest.mark.slow
def test_a_file_is_no_part_of_a_link() -> None:
    at = opened("sentences", source="file", text="Mine.")
    assert carried(at, include=True) == [("text", "Mine.")]
    assert "uploaded file is not part" in " ".join(each.value for each in at.caption)
    several = opened("predictions", view="Several texts", texts_from="file", list_file="my *list*.csv")
    assert "list_file" not in several.query_params
    (waiting,) = [each.value for each in several.info]
    assert "made from the file my \\*list\\*\\.csv, which is not part of a link" in waiting
    several.file_uploader(key="many_upload").upload("own.csv", b"my pet\nthe bank\n", "text/csv").run()
    assert ("list_file", "own.csv") in carried(several, include=True)
    assert "The file own\\.csv is not part of the link" in " ".join(each.value for each in several.caption)
