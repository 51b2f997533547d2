"""Prompts: conventions of families, and what prompts change, against sentence-transformers, scikit-learn and SciPy.

Covers `bertviz_core/sentences/analysis/prompts.py`, `bertviz_core/questions/texts/prompts.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr
from sentence_transformers import SentenceTransformer
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from bertviz_core import BertvizError, open_model
from bertviz_core.errors import TextError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.sources import folder_source
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.sentences.analysis.prompts import (
    E5,
    Arrangement,
    judged,
    list_arrangements,
    prompt_ranking,
    search_arrangements,
)
from bertviz_core.sentences.conventions import CONVENTIONS, convention_of, looks_like_search, own_pair
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.results import PromptPair, SentencePlan
from bertviz_core.settings import Settings
from tests.cli.test_sentences import checkpoint_with_prompts
from tests.helpers.tiny_models import save_tiny

MODEL = "all-MiniLM-L6-v2"
TEXTS = ("How do I reset my password?", "I forgot my login.", "The film was wonderful.", "It is going to rain.")
QUERIES = ("Who wrote Hamlet?", "capital of France", "boiling point of water")
DOCUMENTS = (
    "Paris has been the capital since the tenth century.",
    "Shakespeare wrote the tragedy around 1600.",
    "At sea level water boils at 100 degrees Celsius.",
    "Water is a molecule of hydrogen and oxygen.",
    "The film was wonderful.",
)
RELEVANCE = np.array([[0, 2, 0, 0, 0.5], [3, 0, 0, 0, 0], [0, 0, 2, 1, 0]])
GOLD = [
    cell
    for row, query in enumerate(QUERIES)
    for column, document in enumerate(DOCUMENTS)
    for cell in (query, document, float(RELEVANCE[row, column]))
]


@pytest.fixture(scope="module")
def library() -> SentenceTransformer:
    return SentenceTransformer(str(bundled_folder(MODEL)), device="cpu")


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_cosines_are_those_of_the_library_with_each_prompt(library: SentenceTransformer) -> None:
    found = open_model(MODEL).compute("prompts", *TEXTS, prompt_pair="E5")
    made = {prompt: unit(library.encode(list(TEXTS), prompt=prompt)) for prompt in ("", "query: ", "passage: ")}
    different = ~np.eye(len(TEXTS), dtype=bool)
    bare = (made[""] @ made[""].T)[different]
    assert [each.name for each in found.prompted] == [
        "no prompt", "with prompts", "swapped", "all as queries", "all as documents",
    ]  # fmt: skip
    for each in found.prompted:
        expected = made[each.query_prompt] @ made[each.document_prompt].T
        assert each.cosines[different] == pytest.approx(expected[different], abs=1e-5)
        assert each.range.mean == pytest.approx(expected[different].mean(), abs=1e-5)
        assert each.spread == pytest.approx(expected[different].std(), abs=1e-5)
        assert each.spearman == pytest.approx(spearmanr(bare, expected[different]).statistic, abs=1e-6)
        nearest = [np.where(different, rows, -9).argmax(axis=1) for rows in (made[""] @ made[""].T, expected)]
        assert each.same_nearest == (nearest[0] == nearest[1]).sum()
    pairs = [(each.query_prompt, each.document_prompt) for each in found.prompted]
    assert pairs[1:3] == [("query: ", "passage: "), ("passage: ", "query: ")]


def test_pairs_that_moved_are_ranked_by_their_cosines() -> None:
    model = open_model(MODEL)
    found, result = model.compute("prompts", *TEXTS, prompt_pair="E5"), model.compare_prompts(TEXTS, prompts="E5")
    moved = result.moved()
    rows, columns = moved["one"].to_numpy() - 1, moved["other"].to_numpy() - 1
    for side, each in zip(("without", "with"), found.prompted, strict=False):
        assert moved[f"rank {side}"].to_numpy() == pytest.approx(rankdata(-each.cosines[rows, columns], "min"))
        assert moved[f"cosine {side}"].to_numpy() == pytest.approx(each.cosines[rows, columns])
    assert moved["moved"].abs().is_monotonic_decreasing


def test_measures_are_those_of_scikit_learn_and_by_definition(library: SentenceTransformer) -> None:
    found = open_model(MODEL).compute("prompt-ranks", *GOLD, prompt_pair="E5")
    assert [each.name for each in found.prompted][:3] == ["no prompt", "with prompts", "swapped"]
    assert len(found.prompted) == 7
    for each in found.prompted:
        queries = unit(library.encode(list(QUERIES), prompt=each.query_prompt))
        documents = unit(library.encode(list(DOCUMENTS), prompt=each.document_prompt))
        scores = queries @ documents.T
        ranks = rankdata(-scores, axis=1)
        assert each.ranks.tolist() == ranks[found.query, found.document].tolist()
        assert each.ndcg == pytest.approx(ndcg_score(RELEVANCE, scores, k=10))
        first = np.where(RELEVANCE > 0, ranks, np.inf).min(axis=1)
        assert each.mrr == pytest.approx((1 / first).mean())
        assert each.first == pytest.approx((first == 1).mean())
        assert each.mean_rank == pytest.approx(ranks[RELEVANCE > 0].mean())
        assert each.recall == 1


@pytest.mark.parametrize("seed", range(8))
def test_measures_of_many_documents(seed: int) -> None:
    """Random vectors, graded relevance, several relevant documents, ranks beyond 10; more rows than a chunk."""
    made = np.random.default_rng(seed)
    queries, documents = made.normal(size=(30, 5)), made.normal(size=(40, 5))
    relevance = made.choice([0, 0, 1, 2.5], size=(30, 40))
    names, texts = [f"q{place}" for place in range(30)], [f"d{place}" for place in range(40)]
    cells = [(names[row], texts[column], relevance[row, column]) for row in range(30) for column in range(40)]
    made.shuffle(cells)
    rows = judged(*([cell[part] for cell in cells] for part in (0, 1)), [float(cell[2]) for cell in cells])
    order = [[names.index(each) for each in rows.queries], [texts.index(each) for each in rows.documents]]
    queries, documents, relevance = queries[order[0]], documents[order[1]], relevance[order[0]][:, order[1]]
    pair = PromptPair("typed", "q", "d")
    found = prompt_ranking("m", pair, rows, [Arrangement("no prompt", "", "")], {"": queries}, {"": documents})
    (each,) = found.prompted
    scores = unit(queries) @ unit(documents).T
    assert each.ndcg == pytest.approx(ndcg_score(relevance, scores, k=10))
    top = np.argsort(-scores, axis=1)[:, :10]
    inside = np.take_along_axis(relevance > 0, top, axis=1).sum(axis=1)
    assert each.recall == pytest.approx((inside / (relevance > 0).sum(axis=1)).mean())
    best = np.zeros_like(relevance, dtype=bool)  # of one relevant document, this is 1 / its rank
    best[np.arange(30), np.where(relevance > 0, scores, -9).argmax(axis=1)] = True
    assert each.mrr == pytest.approx(label_ranking_average_precision_score(best, scores))


def test_equal_rows_count_once_and_queries_without_gold_are_left_out() -> None:
    rows = judged(["a", "a", "b", "a"], ["x", "x", "y", "y"], [1, 2, 0, 0])
    assert (rows.queries, rows.documents, rows.relevance.tolist()) == (("a",), ("x", "y"), [2])
    assert rows.notices == ("1 query without a relevant document left out.",)


WRONG = {
    "no rows": (([], [], []), "no queries"),
    "negative": ((["a"], ["x"], [-1.0]), "relevance is -1"),
    "NaN": ((["a"], ["x"], [float("nan")]), "relevance is nan"),
    "none relevant": ((["a", "a"], ["x", "y"], [0.0, 0.0]), "No document is relevant"),
    "one document": ((["a", "b"], ["x", "x"], [1.0, 1.0]), "one document"),
    "too many": ((["a"] * 10_001, ["x"] * 10_001, [1.0] * 10_001), "at most 10,000"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_rows_are_refused_in_one_sentence(case: str) -> None:
    rows, words = WRONG[case]
    with pytest.raises(TextError, match=words):
        judged(*rows)


FAMILY_OF = {
    "intfloat/e5-base-v2": "E5",
    "intfloat/multilingual-e5-small": "E5",
    "multilingual-e5-large-instruct": "E5-instruct",
    "intfloat/e5-mistral-7b-instruct": "E5-instruct",
    "nomic-ai/nomic-embed-text-v1.5": "nomic-embed-text",
    "nomic-ai/modernbert-embed-base": "nomic-embed-text",
    "BAAI/bge-small-en-v1.5": "BGE",
    "BAAI/bge-large-zh-v1.5": "BGE, Chinese",
    "BAAI/bge-m3": None,
    "BAAI/bge-reranker-base": None,
    "Qwen/Qwen3-Embedding-0.6B": "Qwen3-Embedding",
    "Qwen/Qwen3-0.6B": None,
    "google/embeddinggemma-300m": "EmbeddingGemma",
    "mixedbread-ai/mxbai-embed-large-v1": "mxbai-embed-large",
    "Snowflake/snowflake-arctic-embed-m-v1.5": "Arctic-embed",
    "Snowflake/snowflake-arctic-embed-l-v2.0": None,
    "snowflake-arctic-embed-m-long": "Arctic-embed",
    "models--BAAI--bge-base-en": "BGE",
    "BAAI/bge-base-en@a1b2c3": "BGE",
    "all-MiniLM-L6-v2": None,
    "google-bert/bert-base-uncased": None,
    "size5-base": None,
}


@pytest.mark.parametrize("name", FAMILY_OF)
def test_a_family_is_known_by_its_name(name: str, tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "saved")
    found = convention_of(folder_source(name, folder))
    assert (found and found.name) == FAMILY_OF[name]
    assert all(each.source and (each.query or each.document) for each in CONVENTIONS.values())


def test_a_folder_without_prompts_has_the_convention_of_its_family_and_a_notice(tmp_path: Path) -> None:
    settings = Settings.from_environment()
    plain = folder_source("tiny", save_tiny("bert", tmp_path / "e5-small"))  # the folder's name
    plan = recommended(plain, settings)
    assert plan.convention == E5
    assert plan.prompt == ""
    assert any("'query: ' in front of queries and 'passage: ' in front of documents" in each for each in plan.notices)
    snapshot = tmp_path / "models--BAAI--bge-base-en-v1.5" / "snapshots" / "0a1b2c"
    assert (
        recommended(folder_source("x", save_tiny("bert", snapshot)), settings).convention
        == CONVENTIONS[r"bge-(?:small|base|large)-en"]
    )
    prompted = recommended(folder_source("e5-base", checkpoint_with_prompts(tmp_path / "e5-base")), settings)
    assert prompted.convention is None
    assert not any("names no prompts" in each for each in prompted.notices)


def test_the_convention_is_offered_first_and_never_applied(tmp_path: Path) -> None:
    folder = str(save_tiny("bert", tmp_path / "my-e5-base"))
    model, bare = open_model(folder), open_model(str(save_tiny("bert", tmp_path / "plain")))
    found = model.compute("prompts", *TEXTS)
    assert found.pair == E5
    assert model.sentences(TEXTS).data.vectors == pytest.approx(bare.sentences(TEXTS).data.vectors, abs=1e-6)
    assert any("of no family" in each for each in bare.compute("prompts", *TEXTS).notices)
    assert not any("of no family" in each for each in found.notices)


def test_the_folders_own_prompts_come_first(tmp_path: Path) -> None:
    folder = checkpoint_with_prompts(tmp_path / "own")
    found = open_model(str(folder)).compute("prompts", *TEXTS)
    assert (found.pair.query, found.pair.document) == ("the river : ", "my pet ")
    assert any("default is the prompt 'my pet '" in each for each in found.notices)
    library = SentenceTransformer(str(folder), device="cpu")
    made = unit(library.encode_query(list(TEXTS))) @ unit(library.encode_document(list(TEXTS))).T
    assert found.prompted[1].cosines == pytest.approx(made, abs=1e-5)


def test_prompts_of_a_folder_are_found_by_their_names() -> None:
    plan = SentencePlan("mean", prompts={"s2p_query": "a: ", "retrieval.passage": "b: ", "other": "c: "})
    assert own_pair(plan) == PromptPair("the model's folder", "a: ", "b: ", "its config_sentence_transformers.json")
    assert own_pair(SentencePlan("mean", prompts={"query": "", "document": ""})) is None
    (only,) = [own_pair(SentencePlan("mean", prompts={"Clustering": "c: "}))]
    assert only is not None
    assert (only.query, only.document) == ("c: ", "")


def test_equal_arrangements_are_compared_once() -> None:
    names = [each.name for each in list_arrangements(PromptPair("one side", "q: ", ""), {"query": "q: ", "x": "y: "})]
    assert names == ["no prompt", "with prompts", "swapped", "all as queries", "all with 'x'"]
    both = PromptPair("both", "q: ", "q: ")
    assert [each.name for each in search_arrangements(both)] == [
        "no prompt", "with prompts", "queries only", "documents only",
    ]  # fmt: skip
    with pytest.raises(TextError, match="no prompt to compare"):
        list_arrangements(PromptPair("none", "", ""), {})


LONG = "Water boils at a lower temperature on a mountain, since the air presses less on it than at the sea. " * 3
SEARCH = {
    "questions and long texts": (["Who?", "Why is it?", LONG, LONG], (2, 2)),
    "in Chinese": (["为什么？", "谁？", "水" * 300, "山" * 300], (2, 2)),
    "sentences": ([*TEXTS], (0, 0)),
    "questions alone": (["Who?", "Why?", "Where?"], (0, 0)),
    "long texts alone": ([LONG, LONG, LONG], (0, 0)),
    "one question": (["Who?", LONG, LONG], (0, 0)),
    "few of many": (["Who?", "Why?", LONG, LONG, *(["short"] * 9)], (0, 0)),
}


@pytest.mark.parametrize("case", SEARCH)
def test_a_list_of_queries_and_documents_is_seen(case: str) -> None:
    texts, expected = SEARCH[case]
    assert looks_like_search(texts) == expected


def test_a_search_list_has_a_notice_where_the_model_has_prompts(tmp_path: Path) -> None:
    texts = SEARCH["questions and long texts"][0]
    known = open_model(str(save_tiny("bert", tmp_path / "bge-small-en-v1.5"))).sentences(texts)
    assert any("looks like 2 queries and 2 documents, and each text gets no prompt" in each for each in known.notices)
    own = open_model(str(checkpoint_with_prompts(tmp_path / "own"))).sentences(texts)
    assert any("each text gets the prompt 'my pet '" in each for each in own.notices)
    ordinary = open_model(str(tmp_path / "own")).sentences(TEXTS)
    for each in (open_model(MODEL).sentences(texts), ordinary):
        assert not any("looks like" in notice for notice in each.notices)


def test_a_long_list_is_compared_in_part_and_says_so(tmp_path: Path) -> None:
    model = open_model(str(save_tiny("bert", tmp_path / "tiny")))
    found = model.compute("prompts", *(f"the river {place}" for place in range(501)), prompt_pair="BGE")
    assert len(found.sentences) == 500
    assert any("500 of the 501 sentences" in each for each in found.notices)


def test_what_cannot_be_compared_is_one_sentence(tmp_path: Path) -> None:
    model = open_model(MODEL)
    for arguments, options, words in (
        (("prompts", "one"), {}, "a second sentence"),
        (("prompts", *TEXTS), {"prompt_pair": "x"}, "no prompts 'x'; choose own, E5"),
        (("prompts", *TEXTS), {"prompt_pair": "own"}, "names no prompts"),
        (("prompts", *TEXTS), {"prompt_pair": "typed"}, "both are empty"),
        (("prompt-ranks", "a", "b"), {}, "query, document, relevance"),
        (("prompt-ranks", "a", "b", "c"), {}, "a number"),
    ):
        with pytest.raises(BertvizError, match=words):
            model.compute(*arguments, **options)
    typed = model.compute("prompts", *TEXTS, query_prompt_text="q: ")
    assert (typed.pair.query, typed.pair.document) == ("q: ", "")


@pytest.mark.parametrize("family", ["gpt2", "t5", "modernbert"])
def test_other_families_have_the_vectors_of_the_library(family: str, tmp_path: Path) -> None:
    from sentence_transformers.sentence_transformer import modules

    transformer = modules.Transformer(str(save_tiny(family, tmp_path / "raw")))
    pooling = modules.Pooling(transformer.get_embedding_dimension(), "lasttoken" if family == "gpt2" else "mean")
    prompts = {"query": "the river : ", "document": ""}
    SentenceTransformer(modules=[transformer, pooling], device="cpu", prompts=prompts).save(str(tmp_path / "saved"))
    library = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    texts = ["my pet python", "the river bank", "I love the river"]
    expected = unit(np.stack([library.encode_query(text) for text in texts]))
    expected = expected @ unit(np.stack([library.encode_document(text) for text in texts])).T
    found = open_model(str(tmp_path / "saved")).compute("prompts", *texts)
    assert found.prompted[1].cosines == pytest.approx(expected, abs=1e-4)
    assert own_plan(OpenedModel(str(tmp_path / "saved"), Settings.from_environment(any_folder=True))).prompt == ""
