"""Tiny models of the types that people know by other names, and what is compared of each, for docs/families.md."""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Normalize, Router
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.cross_encoder.modules import Transformer as CrossTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
from transformers import CONFIG_MAPPING, AutoModel, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.attention.maps import attention_map, attention_probs
from bertviz_core.errors import BertvizError
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.verification import model_inputs
from tests.attention.test_sinks import FAMILIES as SINKS
from tests.attention.test_sinks import SIZES as SINK_SIZES
from tests.helpers import authors_models as authors
from tests.helpers.made_adapters import random_class, save_adapter, saved_base
from tests.helpers.multi_vector import save_heads, save_multi_vector
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import FAMILIES, HIDDEN, TEXT, save_tiny, tiny_tokenizer, vocabulary
from tests.helpers.tiny_rerankers import TEMPLATE, save_causal, save_classifier
from tests.models.test_gliner import gliner
from tests.predictions.scoring import test_three_heads
from tests.sentences.test_sparse import save_sparse
from tests.sentences.test_static_models import model2vec, plain, router
from tests.sentences.test_text_towers import TOWERS, own_inputs
from tests.sentences.test_text_towers import saved as save_tower

Making = Callable[[Path], Any]
SETTINGS = Settings.from_environment(any_folder=True)
QUERY = "the river bank"
TEXTS = ("I love my pet python.", "the river", "my language, the bank by the river")
SIZES: Mapping[str, Any] = {
    "vocab_size": len(vocabulary()), "hidden_size": HIDDEN, "num_hidden_layers": 3, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 10, "intermediate_size": 14, "max_position_embeddings": 61,
    "sliding_window": 4, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2,
    "sep_token_id": 3, "initializer_range": 0.3,
}  # fmt: skip
KNOWN_HEAD = """
## Known by other names

Made by `python -m tests.helpers.families_document` as well: a tiny random model of each, in the format in which it is
published, compared in `tests/models/test_models_that_people_bring.py`. A row is about the type: it holds for any
checkpoint of these names that has the same format.

* **attention**: recorded or eager, as above; whether a token sees the later ones too ("both ways") or not ("causal"),
  and whether the maps have a sink; the maps equal those of the model's own eager run (1e-5).
* **sentence vectors**, **rank**: whose numbers those of the folder are, and the largest difference allowed; "-" where
  such a model has none.

"""
REFUSED_HEAD = """
What does not open, and what is said of it, with the numbers of the tiny model:

"""


def encoder(folder: Path, model_type: str, left: bool = False, **changes: Any) -> Path:
    """Save a random encoder with a tokenizer, which pads on the left where `left`."""
    if model_type in FAMILIES:
        return save_tiny(model_type, folder, **changes)
    torch.manual_seed(0)
    model = AutoModel.from_config(CONFIG_MAPPING[model_type](**{**SIZES, **changes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    tokenizer = tiny_tokenizer(model_max_length=29)
    tokenizer.padding_side = "left" if left else "right"
    tokenizer.save_pretrained(folder)
    return folder


def sentences(model_type: str, pooling: str = "mean", *widths: int, **changes: Any) -> Making:
    """What saves a folder of sentence-transformers: encoder, pooling, dense layers of these widths, normalisation."""

    def make(folder: Path) -> None:
        width = changes.get("hidden_size", HIDDEN)
        modules = [
            Transformer(str(encoder(folder.with_name("encoder"), model_type, **changes))),
            Pooling(width, pooling),
        ]
        torch.manual_seed(4)
        for into, out in zip((width, *widths), widths, strict=False):
            modules.append(Dense(into, out, bias=False, activation_function=torch.nn.Identity()))
        SentenceTransformer(modules=[*modules, Normalize()], device="cpu").save_pretrained(str(folder))

    return make


def by_library(folder: Path) -> Any:
    """Vectors of sentence-transformers."""
    return SentenceTransformer(str(folder), device="cpu").encode(list(TEXTS))


def by_sparse_library(folder: Path) -> Any:
    """Sparse vectors of sentence-transformers, with a number for each word of the vocabulary."""
    return SparseEncoder(str(folder), device="cpu").encode(list(TEXTS), convert_to_sparse_tensor=False).numpy()


def by_sparse_documents(folder: Path) -> Any:
    """Sparse vectors of documents of sentence-transformers."""
    return SparseEncoder(str(folder), device="cpu").encode_document(list(TEXTS), convert_to_sparse_tensor=False).numpy()


def by_documents(folder: Path) -> Any:
    """Vectors of documents of sentence-transformers."""
    return SentenceTransformer(str(folder), device="cpu").encode_document(list(TEXTS))


def by_features(folder: Path) -> Any:
    """Vectors of get_text_features of transformers."""
    model: Any = AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        each = [model.get_text_features(**own_inputs(folder, model.config.model_type, text)) for text in TEXTS]
    return torch.cat([one.pooler_output for one in each]).numpy()


def by_peft(folder: Path) -> Any:
    """Mean of the last states of the model that peft merged."""
    model, tokenizer = AutoModel.from_pretrained(folder.with_name("merged")), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        each = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0) for text in TEXTS]
    return torch.stack(each).numpy()


OUTPUTS = {"new": authors.gte_outputs, "bert": authors.jina_outputs, "neobert": authors.neobert_outputs}
"""Model type of an author's config -> its plain computation."""


def plain_states(folder: Path, *texts: str) -> tuple[Any, Mapping[str, Any]]:
    """The last states of an author's model in plain NumPy, and its tensors without the prefix of a head."""
    config = json.loads((folder / "config.json").read_text())
    outputs = OUTPUTS[config["model_type"]]
    tensors = {
        name.removeprefix("new.").removeprefix("bert."): each.numpy() for name, each in tensors_of(folder).items()
    }
    read = tiny_tokenizer()(*texts)
    ids, types = np.array(read["input_ids"]), np.array(read["token_type_ids"])
    own = {name: each for name, each in tensors.items() if not name.startswith("classifier")}
    return outputs(own, config, ids, types)[0][-1], tensors


def tensors_of(folder: Path) -> dict[str, torch.Tensor]:
    """The tensors of a folder."""
    tensors: dict[str, torch.Tensor] = load_file(folder / "model.safetensors")
    return tensors


def by_hand(folder: Path) -> Any:
    """Mean of the last states of an author's model in plain NumPy."""
    return np.stack([plain_states(folder, text)[0].mean(axis=0) for text in TEXTS])


def scores_by_hand(folder: Path) -> Any:
    """Scores of an author's reranker in plain NumPy: a pooler, a linear layer, a sigmoid."""
    scores = []
    for text in TEXTS:
        states, tensors = plain_states(folder, QUERY, text)
        pooled = np.tanh(states[0] @ tensors["pooler.dense.weight"].T + tensors["pooler.dense.bias"])
        scores.append(pooled @ tensors["classifier.weight"][0] + tensors["classifier.bias"][0])
    return 1 / (1 + np.exp(-np.array(scores)))


def by_cross_encoder(folder: Path) -> Any:
    """Scores of sentence-transformers' CrossEncoder."""
    return CrossEncoder(str(folder), device="cpu").predict([(QUERY, text) for text in TEXTS], batch_size=1)


def by_multi_vectors(folder: Path) -> Any:
    """Scores of sentence-transformers' MultiVectorEncoder."""
    library = MultiVectorEncoder(str(folder), device="cpu")
    return library.similarity([library.encode_query(QUERY)], library.encode_document(list(TEXTS)))[0].numpy()


def by_three_heads(folder: Path) -> Any:
    """The dense, sparse and multi-vector scores as FlagEmbedding defines them."""
    return test_three_heads.expected(folder)[0]


REFERENCES: Mapping[Callable[[Path], Any], str] = {
    by_library: "sentence-transformers",
    by_sparse_library: "SparseEncoder",
    by_sparse_documents: "SparseEncoder.encode_document",
    by_documents: "encode_document",
    by_features: "get_text_features",
    by_peft: "peft's merged model",
    by_hand: "a plain computation",
    scores_by_hand: "a plain computation",
    by_cross_encoder: "CrossEncoder",
    by_multi_vectors: "MultiVectorEncoder",
    by_three_heads: "FlagEmbedding's definitions",
}
"""Reference -> what it is called in the table."""


def authored(config: Mapping[str, Any], tensors: Mapping[str, Any], prefix: str = "", reranker: str = "") -> Making:
    """What saves a folder of an author's model, or of its reranker of this class."""

    def make(folder: Path) -> None:
        if not reranker:
            authors.save(folder, config, dict(tensors))
            return
        head = authors.random_tensors(authors.dense("classifier", 1, authors.HIDDEN))
        labels = {"architectures": [reranker], "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
        authors.save(folder, {**config, **labels}, {**{prefix + name: each for name, each in tensors.items()}, **head})

    return make


def logit_score(model_type: str) -> Making:
    """What saves a causal reranker of sentence-transformers."""

    def make(folder: Path) -> None:
        transformer = CrossTransformer(
            str(save_causal(folder.with_name("causal"), model_type, TEMPLATE)), transformer_task="text-generation"
        )
        CrossEncoder(modules=[transformer, LogitScore(97, 98)], device="cpu").save_pretrained(str(folder))

    return make


def inference_free(folder: Path) -> None:
    """A sparse encoder whose queries are a weight for each token."""
    encoder = Transformer(
        str(save_tiny_head("bert", "masked-lm", folder.with_name("head"))), transformer_task="fill-mask"
    )
    queries = SparseStaticEmbedding(AutoTokenizer.from_pretrained(folder.with_name("head")))
    ways = {"query": [queries], "document": [encoder, SpladePooling("max")]}
    SparseEncoder(modules=[Router(ways)], device="cpu").save_pretrained(str(folder))


def with_sinks(model_type: str) -> Making:
    """What saves a model whose attention has sinks."""
    return lambda folder: encoder(folder, model_type, **{**SINK_SIZES, **SINKS[model_type]})


def adapter(folder: Path) -> None:
    """A LoRA adapter of all linear maps, beside its base and what peft merges."""
    model = random_class(AutoModel, "bert")
    base = saved_base(model, folder.with_name("base"))
    save_adapter(model, base, folder, target_modules="all-linear").save_pretrained(folder.with_name("merged"))
    tiny_tokenizer().save_pretrained(folder)


def renamed(of: str, names: Mapping[str, str], **config: Any) -> Making:
    """What saves a folder with an author's names of tensors and entries of its config."""

    def make(folder: Path) -> None:
        save_tiny(of, folder)
        tensors = tensors_of(folder)
        for old, new in names.items():
            tensors = {name.replace(old, new): each for name, each in tensors.items()}
        save_file(tensors, folder / "model.safetensors")
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | config))

    return make


def without_encoder(module: str) -> Making:
    """What saves a folder of sentence-transformers whose first module is no encoder."""

    def make(folder: Path) -> None:
        folder.mkdir()
        kinds = (f"sentence_transformers.models.{module}", "sentence_transformers.models.Pooling")
        modules = [{"idx": at, "name": str(at), "path": f"{at}_", "type": kind} for at, kind in enumerate(kinds)]
        (folder / "modules.json").write_text(json.dumps(modules))

    return make


@dataclass(frozen=True)
class Known:
    """A row: a format by the names that people know."""

    names: str
    make: Making
    vectors: Callable[[Path], Any] | None = by_library
    scores: Callable[[Path], Any] | None = None
    near: float = 1e-6
    """Largest difference from the reference."""


T5GEMMA = {**SIZES, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
GTE, JINA = authors.gte_tensors, authors.jina_tensors
KNOWN: Sequence[Known] = (
    Known("all-MiniLM, BGE, E5, mxbai-embed, arctic-embed, LaBSE", sentences("bert")),
    Known("all-mpnet-base-v2, multi-qa-mpnet", sentences("mpnet")),
    Known("multilingual-e5, arctic-embed-l-v2, granite-embedding multilingual", sentences("xlm-roberta", "cls")),
    Known("BGE-M3: dense, sparse and multi-vector heads", save_heads, None, by_three_heads, 1e-5),
    Known("ModernBERT-embed, gte-modernbert, granite-embedding R2, Ettin encoders", sentences("modernbert")),
    Known("Ettin decoders", sentences("modernbert-decoder", "lasttoken", head_dim=6)),
    Known("nomic-embed-text v1 and v1.5, converted (nomic-ai/…-hf)", sentences("nomic_bert")),
    Known("jina-embeddings-v3, converted (jinaai/jina-embeddings-v3-hf)", sentences("jina_embeddings_v3")),
    Known("jina-embeddings-v5 nano, EuroBERT", sentences("eurobert", "lasttoken")),
    Known("jina-embeddings-v2 (JinaBERT)", authored(authors.JINA, JINA(authors.JINA)), by_hand, near=1e-5),
    Known("jina-embeddings-v2-base-code", authored(authors.JINA_CODE, JINA(authors.JINA_CODE)), by_hand, near=1e-5),
    Known(
        "gte-multilingual, gte-en-v1.5, arctic-embed-m-v2, stella-en-400M (type `new`)",
        authored(authors.GTE, GTE()), by_hand, near=1e-5,
    ),
    Known("NeoBERT", authored(authors.NEOBERT, authors.neobert_tensors()), by_hand, near=1e-5),
    Known("Qwen3-Embedding, jina-embeddings-v5 small", sentences("qwen3", "lasttoken", left=True)),
    Known("gte-Qwen2, stella-en-1.5B (`is_causal: false`)", sentences("qwen2", "lasttoken", is_causal=False)),
    Known("e5-mistral, SFR-Embedding-Mistral, Linq-Embed", sentences("mistral", "lasttoken", left=True)),
    Known("Llama as an embedding model (LLM2Vec merged, RepLLaMA)", sentences("llama")),
    Known("EmbeddingGemma", sentences("gemma3_text", "mean", 26, 7, use_bidirectional_attention=True)),
    Known("EmbeddingGemma 2, text", lambda folder: save_tower("embedding_gemma2_text", folder)),
    Known("sentence-t5, GTR, instructor", sentences("t5")),
    Known("T5Gemma, encoder", sentences("t5gemma", encoder=T5GEMMA, decoder=T5GEMMA)),
    Known("GTE-ModernColBERT, ColBERT, answerai-colbert", lambda folder: save_multi_vector("modernbert", folder), None,
          by_multi_vectors, 1e-5),
    Known("SPLADE, opensearch-neural-sparse", save_sparse, by_sparse_library, near=1e-5),
    Known("inference-free SPLADE, documents", inference_free, by_sparse_documents, near=1e-5),
    Known("StaticEmbedding (static-retrieval-mrl, static-similarity-mrl)", plain),
    Known("Model2Vec (potion)", model2vec),
    Known("Router, Asym: two encoders in one folder", router, by_documents),
    Known("ms-marco-MiniLM", lambda folder: save_tiny_head("bert", "sequence-classification", folder, num_labels=1),
          None, by_cross_encoder),
    Known("bge-reranker", lambda folder: save_tiny_head("xlm-roberta", "sequence-classification", folder, num_labels=1),
          None, by_cross_encoder),
    Known("gte-reranker-modernbert", lambda folder: save_tiny_head(
        "modernbert", "sequence-classification", folder, num_labels=1), None, by_cross_encoder),
    Known("gte-multilingual-reranker",
          authored(authors.GTE, GTE(pooler=True), "new.", "NewForSequenceClassification"), None, scores_by_hand, 1e-5),
    Known("jina-reranker-v1", authored(authors.JINA, JINA(authors.JINA), "bert.", "JinaBertForSequenceClassification"),
          None, scores_by_hand, 1e-5),
    Known("Qwen3-Reranker (yes or no)", logit_score("qwen3"), None, by_cross_encoder, 1e-5),
    Known("Qwen3-Reranker with a head of classes", lambda folder: save_classifier(folder, template=TEMPLATE), None,
          by_cross_encoder, 1e-5),
    Known("mxbai-rerank-v2 and other causal rerankers with LogitScore", logit_score("qwen2"), None,
          by_cross_encoder, 1e-5),
    *(Known(f"{name}, text tower", lambda folder, kind=kind: save_tower(kind, folder), by_features, near=1e-5)
      for name, kind in zip(("CLIP", "MetaCLIP 2", "SigLIP", "SigLIP 2"), TOWERS, strict=True)),
    Known("GLiNER, its encoder", lambda folder: gliner("deberta-v2", folder), None),
    Known("gpt-oss", with_sinks("gpt_oss"), None),
    Known("OpenAI's privacy filter", with_sinks("openai_privacy_filter"), None),
    Known("LoRA adapter, with its base", adapter, by_peft, near=1e-5),
)  # fmt: skip
REFUSED: Mapping[str, Making] = {
    "nomic-embed-text-v2-moe": renamed(
        "nomic_bert", {"layers.1.mlp.": "layers.1.mlp.experts.mlp."}, num_experts=8, auto_map={"AutoModel": "m.M"}
    ),
    "jina-embeddings-v3 as on the Hub": renamed(
        "xlm-roberta", {"encoder.layer.": "roberta.encoder.layers."}, lora_adaptations=["retrieval.query"],
        auto_map={"AutoModel": "jinaai/xlm-roberta-flash-implementation--modeling_lora.XLMRobertaLoRA"},
    ),
    "jina-reranker-v2": renamed(
        "xlm-roberta", {"encoder.layer.": "roberta.encoder.layers."},
        auto_map={"AutoModel": "jinaai/xlm-roberta-flash-implementation--modeling_xlm_roberta.XLMRobertaModel"},
    ),
    "llama-nemotron-embed (llama_bidirec)": renamed(
        "bert", {}, model_type="llama_bidirec", auto_map={"AutoModel": "m.LlamaBidirectionalModel"}
    ),
    "clip-ViT of sentence-transformers (CLIPModel)": without_encoder("CLIPModel"),
    "average_word_embeddings (WordEmbeddings)": without_encoder("WordEmbeddings"),
    "bag of words (BoW)": without_encoder("BoW"),
}  # fmt: skip


def known_part() -> str:
    """The table of the names that people know, and the list of what is refused."""
    rows = [["known as", "model type", "attention", "sentence vectors", "rank"], ["---"] * 5]
    rows += [known_cells(each) for each in KNOWN]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return KNOWN_HEAD + table + REFUSED_HEAD + "".join(map(refused_line, REFUSED))


def known_cells(known: Known) -> list[str]:
    """A row of the table, from a run."""
    with tempfile.TemporaryDirectory() as made:
        known.make(folder := Path(made) / "model")
        opened = OpenedModel(str(folder), SETTINGS)
        model_type = f"`{opened.source.model_type}`"
        row = [known.names, model_type, attention_cell(opened)]
        found: Any = None if known.vectors is None else open_model(folder).sentences(TEXTS).vectors
        row.append(_compared(found, known.vectors, folder, known.near))
        if known.scores is by_three_heads:
            heads = open_model(folder).three_heads(test_three_heads.QUERY, test_three_heads.TEXTS).data
            found = np.stack([heads.dense, heads.sparse, heads.multi_vector])
        elif known.scores is not None:
            found = open_model(folder).rank(QUERY, TEXTS, beside="own").scores
        return [*row, _compared(found, known.scores, folder, known.near)]


def _compared(found: Any, reference: Callable[[Path], Any] | None, folder: Path, near: float) -> str:
    if reference is None:
        return "-"
    expected = reference(folder)
    same = found.shape == expected.shape and np.abs(found - expected).max() <= near
    return f"{'those' if same else 'not those'} of {REFERENCES[reference]} (1e{round(math.log10(near))})"


def attention_cell(opened: OpenedModel) -> str:
    """How attention is known, in which directions it goes, and whether it has a sink."""
    tokens = opened.tokens(TEXT, None)
    run = opened.trace(tokens)
    if run.num_hidden_layers == 0:
        return "no layers"
    layers = [attention_probs(run, layer) for layer in range(run.num_hidden_layers)]
    later = any(np.triu(layer, 1).any() for layer in layers)
    has_sink = "sink" in attention_map(run, 0, 0).keys.labels
    words = f"{run.attention_source}, {'both ways' if later else 'causal'}{', a sink' if has_sink else ''}"
    return words if _maps_are_own(opened, tokens, layers) else f"{words}, not the model's own"


def _maps_are_own(opened: OpenedModel, tokens: Tokens, layers: Sequence[Any]) -> bool:
    model = deepcopy(opened.loaded.model)
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        own = model(**model_inputs(opened.loaded, [tokens]), output_attentions=True).attentions
    return all(np.abs(one - other[0].numpy()).max() <= 1e-5 for one, other in zip(layers, own, strict=True))


def refused_line(name: str) -> str:
    """What is said of a model that is not opened."""
    with tempfile.TemporaryDirectory() as made:
        REFUSED[name](folder := Path(made) / "model")
        try:
            opened = OpenedModel(str(folder), SETTINGS)
            _ = opened.loaded
        except BertvizError as error:
            return f"* {name}: {str(error).replace(str(folder), 'model')}\n"
    return f"* {name}: it opens.\n"
