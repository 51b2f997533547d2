"""The sentences page draws the model's numbers in every view; lists of every length; refusals.

Covers `bertviz_core/questions/views/sentences.py`, `ui/views/sentences/*.py`, `ui/widgets/uploads.py`.
"""

import html
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit
import torch
import transformers
from streamlit.testing.v1 import AppTest

from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.texts import sentences as questions
from bertviz_core.questions.views import sentences as views
from bertviz_core.sentences import similarity
from bertviz_core.sentences.results import SentenceMap
from bertviz_core.settings import Settings
from bertviz_core.trace.pieces import BYTES, reference_tokenizer
from tests.cli.test_sentences import checkpoint_with_prompts
from tests.helpers import hostile_tables
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import SHELL, opened, views_of, visible_text
from ui.cache import figures as decorator
from ui.cache import shared_model as sentence_model
from ui.cache.jobs import Job, JobBoard, board
from ui.examples import EXAMPLES
from ui.widgets import uploads as files

TITLES = views_of("sentences")
HOMONYMS = EXAMPLES["homonyms"][1].splitlines()


@pytest.fixture(autouse=True, scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A separate store for these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INSIDE_BERT_VECTOR_STORE_DIR", str(tmp_path_factory.mktemp("store")))
        sentence_model.vector_store.clear()
        yield
    sentence_model.vector_store.clear()


@pytest.fixture
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of more than 3 sentences count as long, and there is no job."""
    monkeypatch.setattr(questions, "CONFIRMED", 3)
    decorator.results.clear()
    board.clear()


@pytest.fixture(scope="module")
def own(own_states: list[np.ndarray]) -> np.ndarray:
    """The model's own mean-pooled vectors of norm 1."""
    rows = np.stack([h.mean(0) for h in own_states])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def own_states() -> list[np.ndarray]:
    """The model's own last hidden states of each sentence, run without our code."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder())
    model = transformers.AutoModel.from_pretrained(bundled_folder()).eval()
    with torch.inference_mode():
        return [model(**tokenizer(sentence, return_tensors="pt")).last_hidden_state[0].numpy() for sentence in HOMONYMS]


def typed(sentences: str, **query: str) -> AppTest:
    """Open the page with these sentences in its box."""
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page("../pages/sentences.py")
    at.session_state["sentences"] = sentences
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def handed(name: str, content: bytes, **query: str) -> AppTest:
    """Open the page, and upload a file."""
    at = opened("sentences", source="file", **query)
    at.file_uploader[0].upload(name, content, "text/csv")
    return at.run()


def charts(at: AppTest) -> list[dict[str, Any]]:
    """The page's charts as sent to the browser."""
    return [each.figure for each in sent_charts(at)]


def words(at: AppTest) -> str:
    """All Markdown, captions and boxes of the page."""
    return visible_text(" ".join(each.value for each in [*at.markdown, *at.caption, *at.info, *at.error]))


def z(at: AppTest) -> np.ndarray:
    """The matrix of the page's first heatmap."""
    return np.array(charts(at)[0]["data"][0]["z"])


@pytest.mark.usefixtures("patience")
@pytest.mark.sample(1)
@pytest.mark.parametrize("view", [view for view in TITLES if view != "Rank"])  # its own tests have a model that ranks
def test_every_view_opens_with_a_figure(view: str) -> None:
    more = {"other": "itself, rounded to int8"} if view == "Two models" else {}  # which sets no second model by itself
    at = opened("sentences", view=view, **more)
    assert not at.exception
    assert not at.error
    assert charts(at)[0]["data"]


@pytest.mark.slow
def test_cells_are_the_cosines_of_the_models_vectors(own: np.ndarray) -> None:
    np.testing.assert_allclose(z(opened("sentences")), own @ own.T, atol=1e-5)


def test_the_distance_is_that_of_the_models_vectors(own: np.ndarray) -> None:
    expected = np.linalg.norm(own[:, None] - own[None], axis=-1)
    np.testing.assert_allclose(z(opened("sentences", measure="Euclidean")), expected, atol=1e-5)


def test_the_models_own_way_is_preselected_and_named() -> None:
    at = opened("sentences")
    assert at.session_state["pooling"] == "recommended"
    assert at.selectbox(key="pooling").options[0] == "mean (recommended)"
    assert "normalised to unit length" in words(at)


@pytest.mark.slow
def test_a_checkpoints_prompts_are_offered_by_name_and_stand_in_front(models_dir: Path) -> None:
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(checkpoint_with_prompts(models_dir / "asks")), device="cpu")
    for name, text in (("document", "my pet "), ("query", "the river : "), ("none", "")):
        at = opened("sentences", model="asks", prompt=name)
        assert (at.selectbox(key="prompt").value, at.exception) == (name, [])
        vectors = library.encode(HOMONYMS, prompt=text)
        np.testing.assert_allclose(z(at), library.similarity(vectors, vectors), atol=1e-5)
        assert (f"'{text}'" in words(at)) == bool(text)
    assert opened("sentences", model="asks").selectbox(key="prompt").value == "document"
    assert not [each for each in opened("sentences").selectbox if each.key == "prompt"]


@pytest.mark.slow
def test_a_query_may_have_a_prompt_of_its_own(models_dir: Path) -> None:
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(checkpoint_with_prompts(models_dir / "asks")), device="cpu")
    listed = library.encode(HOMONYMS, prompt_name="document")
    for own, name in (("as the list", "document"), ("query", "query")):
        at = opened("sentences", model="asks", view="Query", query_prompt=own)
        at.text_input(key="query_sentence").set_value(HOMONYMS[3]).run()
        expected = library.similarity(library.encode([HOMONYMS[3]], prompt_name=name), listed).numpy()[0]
        found = at.dataframe[0].value
        np.testing.assert_allclose(found["cosine"], np.sort(expected)[::-1], atol=1e-5)
        np.testing.assert_allclose(expected[found["number"] - 1], found["cosine"], atol=1e-5)


def test_clustering_moves_the_sentences_and_changes_no_cell(own: np.ndarray) -> None:
    figure = charts(opened("sentences", order="clustered"))[0]
    order = [int(name.split()[0]) - 1 for name in figure["layout"]["xaxis"]["ticktext"]]
    assert sorted(order) == list(range(len(HOMONYMS)))
    np.testing.assert_allclose(np.array(figure["data"][0]["z"]), (own @ own.T)[np.ix_(order, order)], atol=1e-5)


def test_the_closest_pair_comes_first(own: np.ndarray) -> None:
    cosines = np.triu(own @ own.T, 1)
    first, second = np.unravel_index(cosines.argmax(), cosines.shape)
    row = opened("sentences").dataframe[0].value.iloc[0]
    assert (row["first"], row["second"]) == (first + 1, second + 1)
    assert row["cosine"] == pytest.approx(cosines.max(), abs=1e-5)
    said = re.search(r"Cosine \*\*(\S+)\*\*: (\d+) .* and (\d+) .*, the closest", words(opened("sentences")))
    assert said is not None
    assert said.groups() == (f"{cosines.max():.4f}", str(first + 1), str(second + 1))


def test_a_sentence_of_the_list_is_nearest_to_itself() -> None:
    at = opened("sentences", view="Query")
    at.text_input(key="query_sentence").set_value(HOMONYMS[3]).run()
    found = at.dataframe[0].value.iloc[0]
    assert found["number"] == 4
    assert found["cosine"] == pytest.approx(1, abs=1e-5)


def test_the_cells_of_token_pairs_add_up_to_the_cosine(own: np.ndarray) -> None:
    at = opened("sentences", view="Token contributions")
    assert z(at).sum() == pytest.approx(own[0] @ own[1], abs=1e-5)
    assert f"{own[0] @ own[1]:.4f}" in words(at)
    by_words = opened("sentences", view="Token contributions", cells="words")
    assert z(by_words).sum() == pytest.approx(own[0] @ own[1], abs=1e-5)


@pytest.mark.parametrize("pooling", ["[CLS]", "pooler output"])
def test_an_approximation_is_labelled(pooling: str) -> None:
    at = opened("sentences", view="Token contributions", pooling=pooling)
    assert any("An approximation" in each.value for each in at.warning)


def test_small_maps_hold_the_last_layer_of_every_pooling() -> None:
    lines, maps = charts(opened("sentences", view="Poolings"))
    assert [line["name"] for line in lines["data"][:5]] == ["mean", "[CLS]", "max", "pooler output", "last token"]
    assert len(maps["data"]) == 4 * 7 + 1


@pytest.mark.parametrize("pooling", ["[CLS]", "max", "last token"])
def test_a_chosen_pooling_is_the_one_of_the_vectors(own_states: list[np.ndarray], pooling: str) -> None:
    pool = {"[CLS]": lambda h: h[0], "max": lambda h: h.max(0), "last token": lambda h: h[-1]}[pooling]
    rows = np.stack([pool(h) for h in own_states])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(z(opened("sentences", pooling=pooling)), rows @ rows.T, atol=1e-5)


@pytest.mark.slow
def test_what_is_said_of_poolings_is_said_of_this_model(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "bert")
    folder = save_tiny("gpt2", models_dir / "decoder", vocab_size=300)
    reference_tokenizer(BYTES, Settings.from_environment()).tokenizer.save_pretrained(folder)
    trained = words(opened("sentences", view="Poolings"))
    assert "asks for **mean**" in trained
    untrained = words(opened("sentences", view="Poolings", model="bert"))
    assert "nothing in pre-training asks" in untrained
    assert "**[CLS]**" in untrained
    texts = "A b.\nA c."
    decoder = typed(texts, view="Poolings", model="decoder")
    assert "no [CLS] to pool" in words(decoder)
    assert "Reimers" not in words(decoder)
    names = typed(texts, model="decoder").selectbox(key="pooling").options
    assert names == ["mean", "max", "last token"]


def test_the_vectors_are_the_models(own: np.ndarray) -> None:
    (shown,) = [
        each["data"][0]["z"]
        for each in charts(opened("sentences", vectors_shown="true"))
        if "vectors" in each["layout"]["title"]["text"]
    ]
    np.testing.assert_allclose(shown, own, atol=1e-5)


def test_vectors_are_drawn_on_request_and_are_files_at_once() -> None:
    at = opened("sentences")
    assert len(charts(at)) == 1
    assert [button.label for button in at.get("download_button")][-3:] == ["Parquet", "NumPy (zip)", "CSV"]
    assert len(charts(at.toggle(key="vectors_shown").set_value(True).run())) == 2


def test_no_sentence_stands_in_the_address_and_a_link_that_carries_one_is_honoured() -> None:
    at = opened("sentences", sentences="One.\nTwo.", view="Token contributions")
    assert at.text_area(key="sentences").value == "One.\nTwo."
    assert not any("One" in str(value) for value in at.query_params.values())


def test_the_text_of_the_session_is_put_into_the_list_at_a_click() -> None:
    for nothing in ({}, {"text": " "}):
        assert not [each for each in opened("sentences", **nothing).button if each.label == "Add your text"]
    at = opened("sentences", text="A violin,\nrepaired.")
    at.button(key="sentence_own").click().run()
    assert at.text_area(key="sentences").value.splitlines() == ["A violin, repaired.", *HOMONYMS]
    assert at.button(key="sentence_own").disabled
    both = opened("sentences", text="A violin.", pair="A cello.")
    assert both.button(key="sentence_own").label == "Add your texts"
    both.button(key="sentence_own").click().run()
    assert both.text_area(key="sentences").value.splitlines()[:2] == ["A violin.", "A cello."]


def test_an_example_is_named_in_the_address() -> None:
    at = opened("sentences", example="negation")
    assert at.text_area(key="sentences").value == EXAMPLES["negation"][1]
    at.selectbox(key="example").set_value("word order").run()
    assert at.text_area(key="sentences").value == EXAMPLES["word order"][1]


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("", "Similarity"),
        (" \n\n", "Map"),
        *(("One.", view) for view in TITLES),
        ("One.\n\nOne.", "Token contributions"),
    ],
)
def test_no_list_breaks_a_view(view: str, text: str) -> None:
    at = typed(text, view=view)
    assert not at.exception
    assert len(at.error) == (not text.strip())


def test_markup_in_a_sentence_is_shown_and_not_read() -> None:
    at = typed("<b>x</b> ![a](http://e.example)\n=1+1\n$x$")
    assert not at.exception
    assert charts(at)[0]["layout"]["yaxis"]["ticktext"][0].startswith("&lt;b&gt;x")


def test_blank_lines_and_duplicates_are_counted() -> None:
    found = words(typed("One.\n\nTwo.\nOne."))
    assert "3 sentences" in found
    assert "blank" in found


@pytest.mark.parametrize(
    ("view", "there"),
    [
        ("Similarity", {"pooling", "layer", "order", "measure"}),
        ("Poolings", set()),
        ("Token contributions", {"pooling", "layer", "first_sentence", "second_sentence", "cells"}),
        ("Query", {"pooling", "layer", "measure", "query_sentence"}),
        ("Late interaction", {"query_sentence", "second_sentence"}),
        ("Map", {"pooling", "layer"}),
    ],
)
def test_what_has_no_effect_on_a_view_is_not_there(view: str, there: set[str]) -> None:
    at = opened("sentences", view=view)
    keys = {str(each.key) for kind in ("selectbox", "select_slider", "text_input") for each in at.main.get(kind)}
    assert keys - {"placed", "example", "pair", "text"} == there


def test_an_empty_list_is_told_what_to_do() -> None:
    (message,) = typed(" ").error
    assert visible_text(message.value).startswith("The list is empty. Write at least one sentence")


def test_long_lists_are_drawn_as_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "EVERY_PAIR", 7)
    at = opened("sentences")
    assert "not drawn cell by cell" in words(at)
    assert len(z(at)) <= 8


def test_pairs_blocks_and_points_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "EVERY_PAIR", 7)
    made = []
    for name in ("most_alike", "block_summary", "map_of"):
        found = getattr(questions, name)
        monkeypatch.setattr(questions, name, lambda *arguments, f=found, n=name: [made.append(n), f(*arguments)][1])
    text = "\n".join(reversed(HOMONYMS))
    for _ in range(2):
        at = typed(text)
        at.run()
        typed(text, view="Map").run()
    assert sorted(made) == ["block_summary", "map_of", "most_alike"]
    typed(f"{text}\nOne more.")
    assert sorted(made) == ["block_summary", "block_summary", "map_of", "most_alike", "most_alike"]


@pytest.mark.usefixtures("long_lists")
def test_a_very_long_list_begins_when_asked_and_is_found_again() -> None:
    at = opened("sentences")
    assert not charts(at)
    at.button(key="start_work").click().run()
    assert charts(at)
    at.switch_page("../pages/overview.py").run()
    at.switch_page("../pages/sentences.py").run()
    assert len(z(at)) == len(HOMONYMS)


@pytest.mark.usefixtures("long_lists")
def test_a_cancelled_job_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobBoard, "start", lambda board, key, total, work, nbytes, **_: stopped(total))
    monkeypatch.setattr(JobBoard, "find", lambda board, key: stopped(8))
    at = opened("sentences")
    assert "Stopped after 0 of 8 sentences" in words(at)
    assert at.button(key="resume_job")


def stopped(total: int) -> Any:
    """A job that was stopped before it started computing."""
    job = Job(total, lambda progress: progress(0, total), None)  # type: ignore[arg-type,return-value]  # no result
    job.stop()
    job.start()
    assert job.wait(20)
    return job


@pytest.mark.slow
def test_a_column_of_a_file_is_chosen_and_the_file_outlives_a_visit_elsewhere() -> None:
    at = handed("f.csv", b"kind,sentence,other\na,One thing.,Three.\nb,Two things.,Four.\nb,Last.,Five.\n")
    assert at.selectbox(key="sentence_column").value == "sentence"
    at.selectbox(key="sentence_column").set_value("other").run()
    assert "Three." in charts(at)[0]["layout"]["yaxis"]["ticktext"][0]
    at.switch_page("../pages/overview.py").run()
    at.switch_page("../pages/sentences.py").run()
    assert "Three." in charts(at)[0]["layout"]["yaxis"]["ticktext"][0]


def test_points_are_coloured_by_a_column() -> None:
    at = handed("f.csv", b"kind,sentence\na,One thing.\nb,Two things.\nb,Last.\n", view="Map")
    at.selectbox(key="colour_column").set_value("kind").run()
    assert {trace["name"] for trace in charts(at)[0]["data"]} == {"a", "b"}


def test_points_are_placed_by_umap_where_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(len(HOMONYMS), 2)).astype(np.float32)
    placed = SentenceMap(points, None, "umap", "UMAP said so.")
    monkeypatch.setattr(similarity, "_umap", lambda vectors: placed)
    decorator.results.clear()
    at = opened("sentences", view="Map", placed="UMAP")
    (figure,) = charts(at)
    np.testing.assert_allclose(np.array([figure["data"][0]["x"], figure["data"][0]["y"]]).T, points)
    assert figure["layout"]["xaxis"]["title"]["text"] == "first axis"
    assert "UMAP said so." in words(at)
    assert "of the variance" not in words(at)
    at.selectbox(key="placed").set_value("pca").run()
    assert "of the variance" in words(at)


def test_without_umap_there_is_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "find_spec", lambda name: None)
    at = opened("sentences", view="Map", placed="UMAP")
    assert not at.exception
    assert "of the variance" in words(at)
    assert "placed" not in [each.key for each in at.selectbox]


@pytest.mark.slow
def test_odd_heads_of_columns_are_plain_text() -> None:
    heads = ["", "text", "text", "<b>x</b>", "**b** :red[x] $y$", '"a\nb"', "\u202eabc", "=1+1"]
    rows = [",".join([f"c{row}", f"Line {row}.", *(f"<i>{row}</i>" for _ in heads[2:])]) for row in range(3)]
    at = handed("f.csv", "\n".join([",".join(heads), *rows]).encode(), view="Map")
    plain = ["column 1", "text (2)", "<b>x</b>", "**b** :red[x] $y$", "aU+000Ab", "U+202Eabc", "=1+1"]
    assert at.selectbox(key="colour_column").options == ["one colour", *plain]
    assert at.selectbox(key="sentence_column").options == [plain[0], "text", *plain[1:]]
    for place in (3, 5, 6):
        at.selectbox(key="colour_column").select_index(place).run()
        assert not at.exception
        (drawn,) = charts(at)
        assert drawn["layout"]["legend"]["title"]["text"] == html.escape(plain[place - 1])
        assert {trace["name"] for trace in drawn["data"]} == {f"&lt;i&gt;{row}&lt;/i&gt;" for row in range(3)}


@pytest.mark.slow
def test_columns_may_hold_anything_and_be_called_anything() -> None:
    table = pd.DataFrame(
        {"sentence": [1, 2, 3], "text": ["One.", "Two.", "Three."], "first": [[1], [2, 3], []], "=a": ["x", "y", "y"]}
    )
    target = io.BytesIO()
    table.to_parquet(target)
    at = handed("f.parquet", target.getvalue(), view="Map")
    at.selectbox(key="sentence_column").set_value("text").run()
    assert "'first' holds several values in a cell" in words(at)
    for column in ("sentence", "=a"):
        at.selectbox(key="colour_column").set_value(column).run()
        assert not at.exception
        assert len(charts(at)[0]["data"]) > 1
    at.session_state["sentences_map"] = {"chosen": {"points": [{"customdata": 1}], "box": [], "lasso": []}}
    at.run()
    found = at.dataframe[0].value
    assert found.to_dict("records")[0]["sentence"] == "Two."
    assert list(found.columns) == ["number", "sentence", "sentence (of the file)", "'=a"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("content", [b'a,b\n1,2,3\n"', b"sentence\n\xff\xfe\xfa", b"", b"PAR1"])
def test_a_broken_file_is_refused_in_one_sentence(content: bytes) -> None:
    at = handed("f.csv", content)
    assert not at.exception
    assert len(at.error) == 1


NAMES = (
    "list.exe",
    "list",
    "x" * 10_000,
    "." + "y" * 10_000,
    "../../etc/passwd",
    "a\0b.csv",
    "<b>*x*</b>.CSV",
    ".csv",
    "",
)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_any_name_of_a_file_is_accepted(name: str) -> None:
    at = handed(name, b"sentence\nOne thing.\nTwo things.\n")
    assert not at.exception
    assert not at.error
    assert charts(at)
    assert max(len(each.value) for each in at.caption) < 1_000


def test_after_a_hostile_file_an_honest_one_is_read() -> None:
    at = handed("f.parquet", hostile_tables.only_lists())
    assert (len(at.error), at.exception) == (1, [])
    assert "several values" in words(at)
    at = handed("f.csv", b"sentence\nOne thing.\nTwo things.\n")
    assert not at.error
    assert charts(at)


def test_the_page_names_the_limit_of_uploads_and_keeps_it_for_typed_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"and {streamlit.get_option('server.maxUploadSize')} MB" in words(opened("sentences", source="file"))
    monkeypatch.setattr(files, "most_megabytes", lambda: 0)
    at = typed("No other test has this list.")
    assert "at most 0 are taken" in words(at)


def test_a_model_without_weights_says_what_can_be_done() -> None:
    at = opened("sentences", model="bert-base-uncased")
    assert not at.exception
    assert "not on this machine" in visible_text(at.info[0].value)


def test_smaller_vectors_of_the_list_and_of_typed_queries(own: np.ndarray) -> None:
    at = opened("sentences", view="Smaller vectors", nearest="2")
    figure = next(each for each in charts(at) if "smaller" in each["layout"]["title"]["text"])
    drawn = {line["name"]: line["y"][0] for line in figure["data"]}
    cosines, bits = own @ own.T, own > 0
    hamming = (bits[:, None] != bits[None]).sum(axis=2)
    near = []
    for matrix in (cosines.astype(float), -hamming.astype(float)):
        np.fill_diagonal(matrix, -np.inf)
        near.append(np.argsort(-matrix, axis=1, kind="stable")[:, :2].tolist())
    expected = np.mean([len({*one} & {*other}) / 2 for one, other in zip(*near, strict=True)])
    assert (drawn["float32"], drawn["binary"]) == (1.0, pytest.approx(expected))
    asking = opened("sentences", view="Smaller vectors", queries_from="my own list", query_lines="A pet.\nMoney.")
    assert "2 queries look for them" in words(asking)
    assert "has the largest range" in words(asking)
    two = typed("One.\nTwo.", view="Smaller vectors")
    assert "With a third sentence" in words(two)
    assert not charts(two)
