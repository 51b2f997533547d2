"""The page Corpus: its numbers equal the library's, its code reproduces them, and damaged folders give a message.

Covers `ui/views/corpus.py`, `ui/cache/shared_model.py`, `ui/widgets/uploads.py`.
"""

import json
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.corpus.analysis import duplicates as comparison
from bertviz_core.corpus.analysis.duplicates import duplicate_groups
from bertviz_core.corpus.analysis.results import DuplicateGroups
from bertviz_core.corpus.corpora_folder import example_folder, make_example
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.manifest import write_manifest
from bertviz_core.corpus.search import query_vector
from bertviz_core.questions.corpora import corpus_hits
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.views.corpus import SIDEBAR
from bertviz_core.settings import Settings
from tests.helpers.charts import sent_charts
from tests.helpers.made_corpora import made_corpus
from tests.helpers.template_corpus import make_corpus, seeded_vectors
from tests.helpers.tiny_models import save_tiny
from tests.pages.conftest import Gate
from tests.pages.opened import opened, views, visible_text
from tests.pages.snippets import Printed, chart, check_view, close
from ui import engine
from ui.cache.shared_model import SharedCorpus
from ui.widgets import run_model as answers

ROWS = 400
VIEWS = ["Search", "Map", "Near duplicates", "Clusters", "Heads", "Probes", "Another model", "About"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one corpus."""
    root = tmp_path_factory.mktemp("corpora")
    make_corpus(root / "made", ROWS, seeded_vectors(0), per_shard=150)
    return root


@pytest.fixture
def corpus(made: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(made))
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    return open_corpus(made / "made")


@pytest.fixture
def tiny(models_dir: Path) -> str:
    save_tiny("bert", models_dir / "tiny")
    return "tiny"


def sentences(at: AppTest) -> list[str]:
    """Error messages of the page, which has no exception."""
    assert not at.exception
    return [visible_text(each.value) for each in at.error]


def component(at: AppTest, name: str) -> Any:
    (part,) = [each.proto for each in at.get("bidi_component") if each.proto.component_name == name]
    return part


def picture(at: AppTest) -> tuple[dict[str, Any], bytes]:
    """Header and arrays of the map."""
    message = component(at, "corpus_map").bytes
    (length,) = struct.unpack_from("<I", message)
    return json.loads(message[4 : 4 + length]), message[4 + length :]


def test_what_a_corpus_is_stands_in_its_manifest(corpus: Corpus) -> None:
    at = check_view("corpus", "all-MiniLM-L6-v2", {"corpus_about": about}, view="About")
    facts = dict(at.dataframe[1].value.to_numpy().tolist())
    assert facts["rows"] == "400 in 3 shards"
    assert facts["weights (SHA-256)"] == corpus.manifest.weights_sha256
    assert at.dataframe[2].value["column"].tolist() == list(corpus.columns)
    assert at.dataframe[0].value["text"].tolist() == corpus.column("text").slice(0, 10).to_pylist()
    assert any("with the weights that made the corpus" in visible_text(each.value) for each in at.markdown)
    assert views(at) == VIEWS


def about(at: AppTest, values: Printed) -> None:
    assert values[:2] == [ROWS, (ROWS, 384)]
    assert list(values[3]) == at.dataframe[2].value["column"].tolist()


def test_a_search_is_brute_force_and_opens_its_hits_elsewhere(corpus: Corpus) -> None:
    def check(at: AppTest, values: Printed) -> None:
        table = at.dataframe[0].value
        assert values[0::3] == table["row"].tolist()
        close(values[1::3], table["cosine"])

    at = check_view(
        "corpus", "all-MiniLM-L6-v2", {"corpus_search": check}, hits="7", where="source=news", corpus_query="A storm."
    )
    table = at.dataframe[0].value
    assert len(table) == 7
    assert set(table["source"]) == {"news"}
    named = SharedCorpus("made")
    inputs = corpus_hits(named, Options(("A storm.",), values={"hits": "100"})).result
    vector = np.asarray(corpus.vectors(), float)
    unit = vector / np.linalg.norm(vector, axis=1, keepdims=True)
    model = named.model
    query = query_vector(corpus, model.loaded, model.tokenizer, model.source, named.settings, "A storm.")
    scores = unit @ (query / np.linalg.norm(query))
    assert [hit.row for hit in inputs.hits] == np.argsort(-scores, kind="stable")[:100].tolist()
    sources, order = corpus.column("source").to_pylist(), np.argsort(-scores, kind="stable").tolist()
    only = [row for row in order if sources[row] == "news"]
    assert table["row"].tolist() == only[:7]
    links = json.loads(component(at, "step_links").json)["links"]
    text = table["text"][0]
    assert parse_qs(links[0]["address"].partition("?")[2])["text"] == [text]
    queries = [parse_qs(link["address"].partition("?")[2]) for link in links]
    assert [each["sentences"] for each in queries if "sentences" in each] == [[f"A storm.\n{text}"]]
    assert [each["pair"] for each in queries if "pair" in each] == [["A storm."]] * 2  # words and heads, by the cosine


def test_an_own_corpus_is_searched_for_its_own_first_text_until_another_is_typed(corpus: Corpus) -> None:
    searched = opened("corpus", hits="3", corpus_query=str(corpus.column("text")[0].as_py()))
    for typed in ("", "  "):
        at = opened("corpus", hits="3", corpus_query=typed)
        assert at.text_input(key="corpus_query").value == typed
        assert at.dataframe[0].value["cosine"].tolist() == searched.dataframe[0].value["cosine"].tolist()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"corpus_query": "x" * 300_000}, "at most 200,000 are read"),
        ({"where": "nothing"}, "has no equals sign"),
        ({"where": "colour=red"}, "The corpus has no column 'colour'"),
        ({"where": "day=late"}, "day"),
    ],
)
def test_a_search_that_cannot_be_gets_one_sentence(corpus: Corpus, query: dict[str, str], words: str) -> None:
    (sentence,) = sentences(opened("corpus", **query))
    assert words in sentence


def test_a_filter_that_leaves_nothing_says_so(corpus: Corpus) -> None:
    at = opened("corpus", where="topic=knitting")
    assert not sentences(at)
    assert any("No row has topic=knitting" in visible_text(each.value) for each in at.info)


def test_the_map_is_coloured_by_the_labels_until_another_colour_is_chosen(corpus: Corpus) -> None:
    at = opened("corpus", view="Map")
    named = {each["name"] for each in picture(at)[0]["groups"]}
    assert named == set(corpus.column("topic").to_pylist())
    box = at.selectbox(key="coloured")
    box.set_value(box.options[-1]).run()
    assert not at.exception
    assert at.selectbox(key="coloured").value == ""
    assert not picture(at)[0]["groups"]


def test_the_map_shows_every_row_and_lists_what_is_selected(corpus: Corpus) -> None:
    def check(at: AppTest, values: Printed) -> None:
        header, rest = picture(at)
        wide, high = header["size"]
        sent = np.frombuffer(rest[2 * wide * high :][: 8 * ROWS], np.float32).reshape(-1, 2)
        close(sent, values[0])

    at = check_view("corpus", "all-MiniLM-L6-v2", {"corpus_plane": check}, view="Map", coloured="topic")
    header, rest = picture(at)
    assert header["points"] == ROWS
    assert {each["name"] for each in header["groups"]} == set(corpus.column("topic").to_pylist())
    left, right, low, high = header["whole"]
    middle = (left + right) / 2
    region = [[left, low], [middle, low], [middle, high], [left, high]]
    words = {"identity": header["identity"], "serial": 1, "window": [left, middle, low, high], "region": region}
    at.session_state["corpus_plane"] = {"message": words}
    at.run()
    assert not at.exception
    zoomed, rest = picture(at)
    assert zoomed["window"] == [left, middle, low, high]
    assert 0 < zoomed["points"] < ROWS
    assert any(f"{zoomed['points']} rows selected" in visible_text(each.value) for each in at.markdown)
    assert len(at.dataframe[0].value) == min(zoomed["points"], 200)
    assert "area" in at.query_params
    again = opened("corpus", view="Map", area=str(at.query_params["area"]))
    close(picture(again)[0]["window"], zoomed["window"], 1e-2)


@pytest.mark.parametrize("area", ["1,2,3", "a,b,c,d", "2,1,0,1", "nan,1,0,1", "1e999,2,0,1"])
def test_an_area_that_is_none_shows_the_whole_map(corpus: Corpus, area: str) -> None:
    header, _ = picture(opened("corpus", view="Map", area=area))
    assert header["window"] == header["whole"]


def test_near_duplicates_are_those_of_a_quadratic_loop(corpus: Corpus) -> None:
    def check(at: AppTest, values: Printed) -> None:
        assert values[0] == pairs
        assert sum(values[1]) == len(values[2])

    vectors = np.asarray(corpus.vectors(), float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = int((np.triu(vectors @ vectors.T, 1) >= 0.9).sum())
    at = check_view("corpus", "all-MiniLM-L6-v2", {"corpus_duplicates": check}, view="Near duplicates", alike="0.9")
    assert any(f"{pairs} pair" in visible_text(each.value) for each in at.markdown)


def test_neighbours_under_another_model_are_those_of_scikit_learn(corpus: Corpus) -> None:
    def nearest(vectors: np.ndarray) -> list[set[int]]:
        found = NearestNeighbors(n_neighbors=4, metric="cosine").fit(vectors).kneighbors(return_distance=False)
        return [set(each) for each in found.tolist()]

    texts = corpus.column("text").to_pylist()[::4]
    new = open_model("sre-embedding-model").sentences(texts).data.vectors
    before, now = nearest(np.asarray(corpus.vectors()[np.arange(0, ROWS, 4)], float)), nearest(new.astype(float))
    kept = [len(one & other) for one, other in zip(before, now, strict=True)]

    def check(at: AppTest, values: Printed) -> None:
        assert np.asarray(values[0]).tolist() == kept

    at = check_view(
        "corpus",
        "all-MiniLM-L6-v2",
        {"corpus_neighbours": check},
        view="Another model",
        neighbour_rows="100",
        neighbour_count="4",
    )
    assert any(visible_text(each.value).startswith("100 of the 400 rows are compared") for each in at.caption)
    listed = at.dataframe[1].value
    assert listed["kept"].tolist() == sorted(each for each in kept if each < 4)[:100]


def test_where_no_rows_are_alike_the_page_says_so(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = duplicate_groups(np.eye(5, dtype=np.float32), 0.6)

    def answered(_: Any, named: SharedCorpus, options: Options, draw: Any) -> Answer[DuplicateGroups]:
        return Answer(replace(apart, threshold=float(options.get("alike"))))

    monkeypatch.setattr(engine, "answer", answered)
    for alike in ("0.6", "0.99"):
        at = opened("corpus", view="Near duplicates", alike=alike)
        assert not sentences(at)
        assert "No two of the 5 rows have a cosine of at least 0.6." in at.info[0].value
        assert "lower" not in at.info[0].value
        assert not sent_charts(at)


def test_where_no_rows_reach_the_threshold_the_closest_pairs_are_shown(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = np.array([[1, 0, 0], [0.75, np.sqrt(1 - 0.75**2), 0], [0, 0, 1]], dtype=np.float32)

    def answered(_: Any, named: SharedCorpus, options: Options, draw: Any) -> Answer[DuplicateGroups]:
        groups = duplicate_groups(vectors, float(options.get("alike")))
        return Answer(groups, drawn={"duplicate_groups": groups, "corpus_name": named.name})

    monkeypatch.setattr(engine, "answer", answered)
    at = opened("corpus", view="Near duplicates")
    assert not sentences(at)
    (said,) = [each.value for each in at.caption if "closest" in each.value]
    assert "No two of the 3 rows have a cosine of at least 0.95." in visible_text(said)
    assert "1 pair of the 3 rows has a cosine of at least 0.7." in visible_text(
        " ".join(each.value for each in at.markdown)
    )
    assert sent_charts(at)


def test_groups_found_so_far_are_drawn_while_the_rest_is_compared(
    corpus: Corpus, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "BLOCK_ROWS", 100)
    partly, end = gate.pages(2, lambda: opened("corpus", view="Near duplicates", alike="0.8"))
    assert "Pairs that are not compared yet are missing." in [each.value for each in partly.caption]
    groups: list[DuplicateGroups] = []
    duplicate_groups(corpus.vectors(), 0.8, on_partial=groups.append)
    for at, key, result in (
        (partly, "corpus_duplicates_so_far", groups[1]),
        (end, "corpus_duplicates", duplicate_groups(corpus.vectors(), 0.8)),
    ):
        (bars,) = chart(at, key)
        assert sum(bars["y"]) == len(result.sizes)


def test_clusters_hold_every_row_once(corpus: Corpus) -> None:
    def check(at: AppTest, values: Printed) -> None:
        assert values[0].tolist() == at.dataframe[0].value["rows"].tolist()

    at = check_view(
        "corpus", "all-MiniLM-L6-v2", {"corpus_clusters": check}, view="Clusters", clusters="6", cluster="2"
    )
    table = at.dataframe[0].value
    assert table["rows"].sum() == ROWS
    close(table["share"].sum(), 1)
    typical = at.dataframe[-1].value["text"].tolist()
    assert typical[:3] == table.loc[2, ["most typical", "second", "third"]].tolist()


def test_shares_of_clusters_are_of_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(tmp_path))
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    vectors = np.random.default_rng(0).standard_normal(seeded_vectors(0).shape).astype(np.float32)
    vectors[: len(vectors) // 3], vectors[-(len(vectors) // 4) :] = vectors[0], vectors[-1]  # two dense groups
    make_corpus(tmp_path / "loose", ROWS, vectors)
    at = opened("corpus", view="Clusters", clustering="HDBSCAN")
    table = at.dataframe[0].value
    outside = ROWS - table["rows"].sum()
    assert 0 < outside < ROWS
    close(table["share"], table["rows"] / ROWS)
    assert any(f"{outside} rows outside them" in visible_text(each.value) for each in at.markdown)


@pytest.mark.slow
def test_heads_and_probes_are_those_of_the_model_on_the_left(corpus: Corpus, tiny: str) -> None:
    def heads(at: AppTest, values: Printed) -> None:
        place = list(values[0]).index("previous_share")
        close(chart(at, "corpus_heads")[0]["z"], values[1][place], 1e-2)

    def probe(at: AppTest, values: Printed) -> None:
        drawn = {trace["name"]: trace for trace in chart(at, "corpus_probe")}
        close(drawn["accuracy"]["y"], 100 * np.array(values[1]))

    more = {"part_column": "source", "sample": "50", "measure": "share on the previous token"}
    at = check_view("corpus", tiny, {"corpus_heads": heads}, view="Heads", **more)
    assert len(at.selectbox(key="part").options) == 4  # all, and the three sources
    named = f"{corpus.manifest.model}: 400 rows, whose vectors this model made. {tiny} reads their texts anew."
    assert named in visible_text(at.markdown[0].value)
    assert visible_text(at.sidebar.caption[0].value) == SIDEBAR
    at = check_view("corpus", tiny, {"corpus_probe": probe}, view="Probes", probe_sample="200", probe_labels="topic")
    assert any("the most accurate:" in visible_text(each.value) for each in at.markdown)


@pytest.mark.slow
def test_without_a_corpus_the_example_is_made_once_and_shown_with_the_way_to_an_own_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_VECTOR_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    at = opened("corpus")
    assert not sentences(at)
    assert any("**About** tells how to bring your own." in each.value for each in (*at.caption, *at.markdown))
    assert len(at.dataframe[0].value) == 10
    folder = example_folder(Settings.from_environment())
    assert folder.is_relative_to(tmp_path)
    assert open_corpus(folder).rows == 220
    messages: list[int] = []
    assert make_example(Settings.from_environment(), lambda done, _: messages.append(done)) == folder
    assert not messages or messages == [220]


@pytest.fixture
def broken(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the corpus, to be damaged."""
    root = tmp_path / "spoiled"
    shutil.copytree(made, root)
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(root))
    return root / "made"


def test_a_spoiled_corpus_gets_one_sentence_also_while_it_is_open(broken: Path) -> None:
    at = opened("corpus", view="About")
    assert not sentences(at)
    manifest, shard = open_corpus(broken).manifest, broken / "shards" / "part-00001.parquet"
    whole = shard.read_bytes()
    for spoil, words in (
        (lambda: shard.write_bytes(whole[:1_000]), "cut off or damaged"),
        (shard.unlink, "is missing"),
        (lambda: write_manifest(broken, replace(manifest, complete=False)), "is not finished"),
        (lambda: write_manifest(broken, replace(manifest, dimensions=12)), "embed the corpus again"),
        (lambda: (broken / "manifest.json").write_text("{"), "is damaged"),
        (lambda: (broken / "manifest.json").unlink(), ""),
    ):
        spoil()
        at.run()
        assert not at.exception
        assert not words or words in sentences(at)[0]
        shard.write_bytes(whole)
        write_manifest(broken, manifest)
    shutil.rmtree(broken)
    at.run()
    assert not at.exception


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "no-such-model"}, "no-such-model"),
        ({"weights_sha256": "0" * 64}, "Search it with the model that made it"),
    ],
)
def test_another_models_corpus_is_shown_but_not_searched(broken: Path, changes: dict[str, Any], words: str) -> None:
    write_manifest(broken, replace(open_corpus(broken).manifest, **changes))
    (sentence,) = sentences(opened("corpus", view="Search"))
    assert words in sentence
    assert not sentences(opened("corpus", view="Map"))
    at = opened("corpus", view="About")
    assert not sentences(at)
    assert any(
        "is not here" in visible_text(each.value) or "not as it was" in visible_text(each.value) for each in at.markdown
    )


def test_a_corpus_without_texts_says_so_where_they_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_corpus(tmp_path / "own" / "bare", text_column=None)
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(tmp_path / "own"))
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    for view in ("Map", "Near duplicates", "Clusters", "About"):
        assert not sentences(opened("corpus", view=view)), view
    for view in ("Heads", "Probes"):
        assert "keeps no texts" in sentences(opened("corpus", view=view))[0]


@pytest.mark.slow
def test_every_view_of_one_row_is_a_figure_or_a_sentence(
    tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_corpus(tmp_path / "one", 1, seeded_vectors(0))
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(tmp_path))
    at = opened("corpus", corpus="one", model=tiny)
    for view in VIEWS:
        at.query_params["view"] = view
        at.run()
        assert not at.exception, view
    assert [visible_text(each.value) for each in opened("corpus", corpus="one", view="Clusters").error] == [
        "Clusters need at least two rows, and this corpus has 1."
    ]
