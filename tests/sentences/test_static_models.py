"""Static models and routers of sentence-transformers, against that library and the definition of Model2Vec.

Covers `bertviz_core/models/static_folder.py`, `bertviz_core/models/static_model.py`, and the ways of a router in
`bertviz_core/models/sentence_folder.py`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize, Router
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, StaticEmbedding, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.errors import BertvizError
from bertviz_core.interventions.hooks import model_parts
from bertviz_core.models.families import STATIC_TYPE
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.ranking import ranked, ranking_options
from bertviz_core.questions.report.model_lines import model_lines, static_lines
from bertviz_core.questions.texts.bits import encoded_queries
from bertviz_core.questions.texts.prompts import ranked_prompts
from bertviz_core.questions.texts.sentences import encoded_by, encoded_query, neighbours, own_plan
from bertviz_core.questions.texts.tokens import vocabulary
from bertviz_core.questions.views.parameters import compare_lines
from bertviz_core.questions.views.texts.checkpoint import report_code
from bertviz_core.sentences.encoding import sentence_tokens
from bertviz_core.sentences.pooling import token_pair_shares
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import HIDDEN, save_tiny

WORDS = tuple("[PAD] [UNK] [CLS] [SEP] i love my pet python . the river bank play ##ing ##s s".split())  # noqa: SIM905
DIMENSIONS, DENSE, ROWS, MOST = 6, 5, 7, 9
TEXTS = ("I love my pet python.", "the river bank, THE rivers playing playing playing", "zebra", "pet [SEP] pet")
SETTINGS = Settings.from_environment(any_folder=True)
Making = Callable[[Path], None]


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def tokenizer(most: int = MOST) -> Tokenizer:
    """A tokenizer that adds tokens and cuts, as one taken from an encoder does."""
    made = Tokenizer(models.WordPiece({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    special = [(name, WORDS.index(name)) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    made.enable_truncation(most)
    made.enable_padding()
    return made


def plain(folder: Path) -> None:
    """A table alone."""
    SentenceTransformer(modules=[StaticEmbedding(tokenizer(), numbers(len(WORDS), DIMENSIONS))]).save(str(folder))


def with_dense(folder: Path) -> None:
    """A table with more rows than words, a dense layer and a normalisation."""
    dense = Dense(DIMENSIONS, DENSE, activation_function=torch.nn.Identity())
    table = StaticEmbedding(tokenizer(), numbers(len(WORDS) + 3, DIMENSIONS))
    SentenceTransformer(modules=[table, dense, Normalize()]).save(str(folder))


def in_subfolder(folder: Path) -> None:
    """A table in a folder of its own, as sentence-transformers 3 wrote it."""
    plain(folder)
    (folder / "0_StaticEmbedding").mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).rename(folder / "0_StaticEmbedding" / name)
    modules = [
        {"idx": 0, "name": "0", "path": "0_StaticEmbedding", "type": "sentence_transformers.models.StaticEmbedding"}
    ]
    (folder / "modules.json").write_text(json.dumps(modules))


def half(folder: Path) -> None:
    """A table in float16."""
    plain(folder)
    save_file({"embedding.weight": numbers(len(WORDS), DIMENSIONS).half()}, folder / "model.safetensors")


def model2vec(folder: Path, modules: bool = True, **changes: Any) -> None:
    """A folder of Model2Vec, whose tokens share rows and have weights."""
    folder.mkdir(exist_ok=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    mapping = torch.arange(len(WORDS)) * 5 % ROWS
    tensors = {"embeddings": numbers(ROWS, DIMENSIONS), "mapping": mapping, "weights": numbers(len(WORDS), seed=1)}
    save_file({**tensors, **changes}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True, "hidden_dim": DIMENSIONS}
    (folder / "config.json").write_text(json.dumps(config))
    prefix, names = "sentence_transformers.models.", [(".", "StaticEmbedding"), ("1_Normalize", "Normalize")]
    listed = [{"idx": at, "name": str(at), "path": path, "type": prefix + end} for at, (path, end) in enumerate(names)]
    if modules:
        (folder / "modules.json").write_text(json.dumps(listed))


def vectors(opened: OpenedModel, texts: tuple[str, ...] = TEXTS) -> np.ndarray:
    """Vectors of texts by the plan of a folder."""
    return encoded_by(opened, own_plan(opened), texts).result.vectors


@pytest.mark.parametrize("make", [plain, with_dense, in_subfolder, model2vec])
def test_vectors_are_those_of_sentence_transformers(tmp_path: Path, make: Making) -> None:
    make(tmp_path)
    opened = OpenedModel(str(tmp_path), SETTINGS)
    assert np.abs(vectors(opened) - SentenceTransformer(str(tmp_path), device="cpu").encode(list(TEXTS))).max() < 1e-6
    tokens = opened.tokens(TEXTS[0], None)
    assert list(tokens.tokens) == ["i", "love", "my", "pet", "python", "."]
    assert opened.tokens("zebra", None).unknown.tolist() == [True]
    assert opened.trace(tokens).hidden_states.shape == (1, 6, DIMENSIONS)


@pytest.mark.parametrize("modules", [True, False])
def test_a_folder_of_model2vec_has_its_rows_times_its_weights(tmp_path: Path, modules: bool) -> None:
    model2vec(tmp_path, modules)
    opened = OpenedModel(str(tmp_path), SETTINGS)
    ids = [WORDS.index(word) for word in ("the", "river", "bank")]
    rows = numbers(ROWS, DIMENSIONS)[torch.tensor(ids) * 5 % ROWS] * numbers(len(WORDS), seed=1)[ids][:, None]
    mean = rows.mean(0)
    assert np.abs(vectors(opened, ("the river bank",))[0] - (mean / mean.norm()).numpy()).max() < 1e-6
    assert any("model2vec leaves out unknown" in each for each in own_plan(opened).notices) != modules
    ledger = source_ledger(opened.source, SETTINGS)
    assert (ledger.total, [each.name for each in ledger.components]) == (ROWS * DIMENSIONS + len(WORDS), ["embeddings"])
    assert source_load_report(opened.source, "base", SETTINGS).fraction_from_file == 1


def test_the_parts_of_the_words_add_up_to_the_vector(tmp_path: Path) -> None:
    with_dense(tmp_path)
    opened = OpenedModel(str(tmp_path), SETTINGS)
    plan = own_plan(opened)
    first, second = (opened.trace(sentence_tokens(opened.tokenizer, text, plan)) for text in TEXTS[:2])
    shares = token_pair_shares(first, second, plan)
    one, other = SentenceTransformer(str(tmp_path), device="cpu").encode(list(TEXTS[:2]))
    assert shares.exact
    assert shares.total == pytest.approx(float(one @ other), abs=1e-6)


def test_float16_is_run_in_float32_and_said(tmp_path: Path) -> None:
    half(tmp_path)
    opened = OpenedModel(str(tmp_path), SETTINGS)
    table = numbers(len(WORDS), DIMENSIONS).half().float()
    mean = table[[WORDS.index("the"), WORDS.index("bank")]].mean(0).numpy()
    assert np.abs(vectors(opened, ("the bank",))[0] - mean).max() < 1e-6
    assert any("float16" in each for each in opened.loaded.notices)


@pytest.mark.slow
def test_the_tokenizer_in_a_process_of_its_own_gives_the_same(tmp_path: Path) -> None:
    plain(tmp_path)
    apart = OpenedModel(str(tmp_path), replace(SETTINGS, isolate_models=True))
    assert apart.tokens(TEXTS[1], None).tokens == OpenedModel(str(tmp_path), SETTINGS).tokens(TEXTS[1], None).tokens
    assert np.array_equal(vectors(apart), vectors(OpenedModel(str(tmp_path), SETTINGS)))


def test_what_needs_layers_is_refused_in_one_sentence(tmp_path: Path) -> None:
    plain(tmp_path)
    with pytest.raises(BertvizError, match="without layers, heads or attention"):
        model_parts(OpenedModel(str(tmp_path), SETTINGS).loaded)


def test_the_lines_of_python_load_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model2vec(tmp_path)
    opened = OpenedModel(str(tmp_path), SETTINGS)
    tokens, run = opened.tokens("the bank", None), {}
    exec(model_lines(opened, tokens) + "states = model(**inputs, output_hidden_states=True).hidden_states", run)  # noqa: S102
    assert np.allclose(run["states"][0][0].detach().numpy(), opened.trace(tokens).hidden_states[0])
    exec(static_lines(opened.source, built=True), run)  # noqa: S102
    ledger, source = source_ledger(opened.source, SETTINGS), opened.source
    assert sum(each.numel() for each in run["model"].parameters()) == ledger.total
    report = source_load_report(source, "base", SETTINGS)
    for lines in (report_code(report, source), compare_lines((source,), (ledger,))):
        exec(lines, {})  # noqa: S102
    assert capsys.readouterr().out.split() == ["()"] * 3 + [str(tmp_path), str(ledger.total)]


def broken(folder: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """A folder of Model2Vec with other tensors."""
    model2vec(folder, **tensors)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"mapping": torch.full((len(WORDS),), ROWS)}, "maps a token to row 7 of a table of 7 rows"),
        ({"mapping": torch.zeros(len(WORDS))}, "The mapping of the static model"),
        ({"weights": torch.ones(3)}, "The weights of the static model"),
        ({"embeddings": torch.ones(4)}, "should hold a table"),
        ({"embeddings": torch.ones(ROWS, 0)}, "should hold a table"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, tensors: Mapping[str, torch.Tensor], words: str) -> None:
    broken(tmp_path, tensors)
    with pytest.raises(BertvizError, match=words):
        _ = OpenedModel(str(tmp_path), SETTINGS).loaded


def test_nan_is_said_and_a_token_without_a_row_refused(tmp_path: Path) -> None:
    plain(tmp_path)
    table = numbers(WORDS.index("bank"), DIMENSIONS)
    table[4, 2] = torch.nan
    save_file({"embedding.weight": table}, tmp_path / "model.safetensors")
    opened = OpenedModel(str(tmp_path), SETTINGS)
    assert any("NaN" in each for each in opened.loaded.notices)
    with pytest.raises(BertvizError, match="has 12 rows"):
        vectors(opened, ("bank",))


@pytest.mark.parametrize(
    ("lost", "words"), [("tokenizer.json", "has no tokenizer"), ("model.safetensors", "is a static model without")]
)
def test_a_folder_without_a_file_says_which(tmp_path: Path, lost: str, words: str) -> None:
    plain(tmp_path)
    (tmp_path / lost).rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(BertvizError, match=words):
        vectors(OpenedModel(str(tmp_path), SETTINGS))


def router(folder: Path, same: bool = False, **settings: Any) -> SentenceTransformer:
    """A router of a table for queries and an encoder for documents, or of the encoder for both."""
    save_tiny("bert", folder.parent / "bert")
    documents = [Transformer(str(folder.parent / "bert")), Pooling(HIDDEN, "mean")]
    queries = documents if same else [StaticEmbedding(tokenizer(), numbers(len(WORDS), HIDDEN))]
    model = SentenceTransformer(modules=[Router({"query": queries, "document": documents}, **settings), Normalize()])
    model.save(str(folder))
    return model.to("cpu")


def test_each_way_of_a_router_is_that_of_sentence_transformers(tmp_path: Path) -> None:
    model = router(tmp_path / "two")
    settings = replace(SETTINGS, models_dir=tmp_path)
    texts, query = list(TEXTS), "my river"
    opened, asking = OpenedModel("two", settings), OpenedModel("two+query", settings)
    documents = model.encode_document(texts)
    assert np.abs(vectors(opened) - documents).max() < 1e-6
    assert np.abs(vectors(asking) - model.encode_query(texts)).max() < 1e-6
    assert (opened.source.model_type, asking.source.model_type) == ("bert", STATIC_TYPE)
    assert any("two+query is its way 'query', which reads the queries" in each for each in opened.notices)
    found = neighbours(opened, Options(TEXTS, values={"query_sentence": query})).result
    scores = documents @ model.encode_query([query])[0]
    assert found.index.tolist() == np.argsort(-scores).tolist()
    assert np.abs(found.score - np.sort(scores)[::-1]).max() < 1e-6


def test_every_view_of_a_search_reads_its_queries_by_their_way(tmp_path: Path) -> None:
    model = router(tmp_path / "two")
    opened = OpenedModel("two", replace(SETTINGS, models_dir=tmp_path))
    queries, texts = ("my river", "pet bank"), (*TEXTS, "the bank", "love my pet")
    documents, asked = model.encode_document(list(texts)), model.encode_query(list(queries))
    judged = [each for query in queries for text in texts for each in (query, text, str(int(text == texts[1])))]
    typed = {"prompt_pair": "typed", "query_prompt_text": "the "}
    ranks = ranked_prompts(opened, Options(tuple(judged), values=typed)).result.prompted
    for found, prompt in ((ranks[0], ""), (ranks[1], "the ")):
        scores = model.encode_query([prompt + query for query in queries]) @ documents.T
        assert found.ranks.tolist() == (1 + (scores > scores[:, [1]]).sum(axis=1)).tolist()
    bits = encoded_queries(opened, Options(texts), queries)
    assert bits is not None
    assert np.abs(bits[1] - asked).max() < 1e-6
    vector = encoded_query(opened, Options(texts), queries[0], own_plan(opened))
    assert np.abs(vector - asked[0]).max() < 1e-6


def test_a_ranking_stands_beside_the_cosine_of_the_way_of_queries(tmp_path: Path) -> None:
    model = router(tmp_path / "two")
    opened = OpenedModel("two", replace(SETTINGS, models_dir=tmp_path))
    result = ranked(opened, ranking_options("my river", TEXTS, "", "own", by="late interaction")).result
    cosines = model.encode_document(list(TEXTS)) @ model.encode_query(["my river"])[0]
    assert np.abs(result.cosines - cosines).max() < 1e-6


def test_ways_that_share_an_encoder_are_one_model(tmp_path: Path) -> None:
    router(tmp_path / "one", same=True)
    source = folder_source("one", tmp_path / "one", SETTINGS)
    assert (source.query_name, source.notices) == ("", ())


@pytest.mark.parametrize(
    ("mapped", "opened"),
    [({("document", "text"): "query"}, STATIC_TYPE), ({(None, None): "document"}, "bert"), ({}, "bert")],
)
def test_what_a_router_maps_to_a_way_comes_first(tmp_path: Path, mapped: Any, opened: str) -> None:
    router(tmp_path / "two", route_mappings=mapped)
    assert folder_source("two", tmp_path / "two", SETTINGS).model_type == opened


def test_a_router_without_a_way_for_documents_names_those_it_has(tmp_path: Path) -> None:
    router(tmp_path / "two")
    path = tmp_path / "two" / "router_config.json"
    content = json.loads(path.read_text())
    content["structure"] = {"one": content["structure"]["query"], "other": content["structure"]["document"]}
    settings = replace(SETTINGS, models_dir=tmp_path)
    for parameters, words in (({"allow_empty_key": False}, "ways for 'one', 'other', and none"), ({}, "")):
        path.write_text(json.dumps({**content, "parameters": parameters}))
        if words:
            with pytest.raises(BertvizError, match=words):
                resolve("two", settings)
        else:
            assert resolve("two", settings).model_type == STATIC_TYPE
        assert resolve("two+other", settings).model_type == "bert"


@pytest.mark.parametrize(
    "change", [{"types": {}}, {"structure": []}, {"types": {"../x": "y"}, "structure": {"a": ["../x"]}}]
)
def test_damaged_settings_of_a_router_are_refused(tmp_path: Path, change: Mapping[str, Any]) -> None:
    router(tmp_path / "two")
    path = tmp_path / "two" / "router_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(BertvizError, match=r"should name ways|leads out of"):
        folder_source("two", tmp_path / "two", SETTINGS)


def test_the_older_router_has_its_settings_in_config_json(tmp_path: Path) -> None:
    model = router(tmp_path / "two")
    (tmp_path / "two" / "router_config.json").rename(tmp_path / "two" / "config.json")
    modules = (tmp_path / "two" / "modules.json").read_text()
    (tmp_path / "two" / "modules.json").write_text(modules.replace("base.modules.router.Router", "models.Asym"))
    opened = OpenedModel(str(tmp_path / "two"), SETTINGS)
    assert np.abs(vectors(opened) - model.encode_document(list(TEXTS))).max() < 1e-6


def test_the_name_by_its_folder_is_that_of_the_whole_model(tmp_path: Path) -> None:
    router(tmp_path / "two")
    source = resolve("two+query", replace(SETTINGS, models_dir=tmp_path))
    assert source.path == f"{tmp_path / 'two'}+query"
    assert resolve(source.path, SETTINGS).folder == source.folder


def test_the_vocabulary_in_use_is_counted_with_the_bytes_of_the_table(tmp_path: Path) -> None:
    for make in (plain, with_dense, half, model2vec):
        make(folder := tmp_path / make.__name__)
        opened = OpenedModel(str(folder), SETTINGS)
        use = vocabulary(opened, Options(TEXTS)).result
        ids = {each for text in TEXTS for each in tokenizer().encode(text, add_special_tokens=False).ids}
        assert use.rows - use.untouched == len(ids)
        stored = load_file(folder / "model.safetensors")
        own = next((each for each in stored.values() if len(each) == use.rows and each.ndim == 2), None)
        if own is None:  # several tokens have one row
            assert use.tables == ()
        else:
            assert [each.nbytes for each in use.tables] == [own.numel() * own.element_size()]
