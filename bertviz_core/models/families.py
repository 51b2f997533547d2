"""How model families differ from BERT, by model_type; types that are not listed follow BERT.

In BERT the first number in a parameter name is the layer, all rows of the position table are used, output_attentions
returns probabilities, padding has no effect, and the embedding block is word + position + type, then a normalisation.
Properties that are derived from a run of the modules (bertviz_core.architecture.dataflow) are not listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

AttentionMaps = Literal["probabilities", "scores", "band", "none"]
"""What output_attentions returns: weights after the softmax, scores before it, only the weights of keys near the
diagonal, or no maps."""
FusedOrder = Literal["", "one after the other", "head by head"]
"""Order within a fused projection: all queries, keys, values; or for each key head its queries, key and value."""


@dataclass(frozen=True, slots=True)
class Family:
    """Properties of a model type; the defaults are those of BERT."""

    title: str
    """The family's name in prose."""

    positions_behind_padding: bool = False
    """Whether position ids start after the padding id, so that fewer tokens fit."""

    layers: str = ""
    """Pattern with the layer index (or block and index) as groups; "" for the first number in the name."""
    parts: tuple[tuple[str, str], ...] = ()
    """(pattern of a name inside the layer, part), tried before the common names."""
    shared_layers: bool = False
    """Whether all layers share their weights."""
    fused: FusedOrder = ""
    """Layout of a fused projection of query, key and value; "" if there is none, or its layout is unknown."""
    beside_heads: str = ""
    """Description of what is added to the head outputs before the output projection; "" for nothing."""

    has_attention: bool = True
    attention_maps: AttentionMaps = "probabilities"
    """What output_attentions returns."""
    no_maps: str = ""
    """Why there are no attention maps, one sentence; "" if there are."""
    own_softmax: bool = False
    """Whether softmax attention is implemented in the modelling file, outside transformers' attention interface."""
    score_terms: str = "further terms"
    """Description of what is added to the product of query and key before the softmax."""

    padding_acts: str = ""
    """How padding affects the other tokens, one clause; "" if it does not."""
    type_table: str = "embeddings.token_type_embeddings"
    constant_terms: tuple[tuple[str, int], ...] = ()
    """(further embedding table, how often its row 0 is added to every token)."""
    embedding_note: str = ""
    """What the embedding block does beyond the sum and the normalisation, one sentence."""
    pooler_note: str = ""
    """How pre-training uses the pooler, one sentence."""

    text_part: str = ""
    """The module that reads texts, of a model that reads images, too; "" for the whole model. The rest is not run."""
    projection: str = ""
    """The module behind the last layer or the pooler that maps the sentence vector; it is no layer."""
    makes_vectors: bool = False
    """Whether its sentence vector is the pooler_output of that part, mapped by the projection (get_text_features)."""
    pads: bool = False
    """Whether every text is padded to all positions and the padding is attended to, as in training."""

    heads_compared: bool = False
    """Whether tests/trace/test_families.py compares every layer and head with the model's own attention, so that the
    comparison for a checkpoint may run after its first picture is shown."""


STATIC_TYPE = "static_embedding"
"""Type of a static model, which transformers has none for."""
LAYOUT_TERMS = tuple(
    (f"embeddings.{axis}_position_embeddings", times) for axis, times in zip("xyhw", (2, 2, 1, 1), strict=True)
)
TYPES_ARE_WORDS = "Token types are rows of the vocabulary table, where the tokenizer gives types."

FAMILIES: Mapping[str, Family] = {
    "albert": Family(
        "ALBERT", layers=r"albert_layer_groups\.(\d+)\.albert_layers\.(\d+)\.", shared_layers=True, heads_compared=True
    ),
    "bart": Family("BART", own_softmax=True),
    "bert": Family(
        "BERT",
        pooler_note="In BERT's pre-training it is used for one task only, through the pooler: whether the second text "
        "follows the first (Devlin et al. 2019).",
        heads_compared=True,
    ),
    "big_bird": Family("BigBird", padding_acts="a text padded beyond a certain length is attended to in blocks"),
    "bloom": Family("BLOOM", fused="head by head"),
    "camembert": Family("CamemBERT", positions_behind_padding=True, heads_compared=True),
    "canine": Family("CANINE", own_softmax=True),
    "clip": Family("CLIP", text_part="text_model", projection="text_projection", makes_vectors=True),
    "convbert": Family("ConvBERT", padding_acts="its convolutions reach over the edge of the text"),
    "dbrx": Family("DBRX", fused="one after the other"),
    "data2vec-text": Family("Data2Vec text", positions_behind_padding=True),
    "deberta": Family(
        "DeBERTa",
        parts=((r"attention\.self\.in_proj", "query_key_value"),),
        fused="head by head",
        own_softmax=True,
        score_terms="content-to-position and position-to-content terms",
    ),
    "deberta-v2": Family(
        "DeBERTa v2 and v3", own_softmax=True, score_terms="content-to-position and position-to-content terms"
    ),
    "distilbert": Family("DistilBERT", heads_compared=True),
    "electra": Family("ELECTRA", heads_compared=True),
    "embedding_gemma2": Family(
        "EmbeddingGemma 2", text_part="language_model", projection="language_model.embedding_projection"
    ),
    "embedding_gemma2_text": Family("EmbeddingGemma 2", projection="embedding_projection"),
    "ernie": Family(
        "ERNIE",
        constant_terms=(("embeddings.task_type_embeddings", 1),),
        embedding_note="A task embedding (task 0) is added where the checkpoint has one.",
    ),
    "esm": Family(
        "ESM",
        positions_behind_padding=True,
        embedding_note="Word vectors are scaled by 0.88 / (1 - share of masked tokens) where token_dropout is on.",
    ),
    "eurobert": Family("EuroBERT"),
    "falcon": Family("Falcon", fused="head by head"),
    "flaubert": Family("FlauBERT", own_softmax=True, type_table="embeddings", embedding_note=TYPES_ARE_WORDS),
    "fnet": Family(
        "FNet",
        has_attention=False,
        attention_maps="none",
        no_maps="FNet mixes tokens by Fourier transforms and has no attention.",
        padding_acts="its Fourier transforms run over padding as over any token",
    ),
    "funnel": Family("Funnel Transformer", layers=r"encoder\.blocks\.(\d+)\.(\d+)\.", own_softmax=True),
    "gpt2": Family(
        "GPT-2",
        fused="one after the other",
        type_table="wte",
        embedding_note="Token types are rows of the vocabulary table, where given.",
    ),
    "gpt_bigcode": Family("GPTBigCode", fused="head by head"),
    "gpt_neox": Family("GPT-NeoX", fused="head by head"),
    "gpt_neox_japanese": Family("GPT-NeoX Japanese", fused="head by head"),
    "gte": Family("GTE"),
    "ibert": Family(
        "I-BERT",
        positions_behind_padding=True,
        own_softmax=True,
        embedding_note="With quant_mode on, tables, sum and normalisation are rounded to 8 bits; this sum is not.",
    ),
    "jina_bert": Family("JinaBERT v2"),
    "jina_embeddings_v3": Family("Jina embeddings v3"),
    "layoutlm": Family(
        "LayoutLM",
        own_softmax=True,
        constant_terms=LAYOUT_TERMS,
        embedding_note="Six layout vectors are added; without a page the same for all tokens: box (0, 0, 0, 0).",
    ),
    "lilt": Family(
        "LiLT",
        positions_behind_padding=True,
        score_terms="score of the layout",
        embedding_note="The layout goes through a stream of its own, which is not part of this sum.",
    ),
    "longformer": Family("Longformer", positions_behind_padding=True, attention_maps="band"),
    "luke": Family("LUKE", positions_behind_padding=True, own_softmax=True),
    "markuplm": Family(
        "MarkupLM",
        positions_behind_padding=True,
        own_softmax=True,
        embedding_note="A vector of the place in the page (XPath) is added; it is not part of this sum.",
    ),
    "megatron-bert": Family("Megatron-BERT", own_softmax=True),
    "metaclip_2": Family("MetaCLIP 2", text_part="text_model", projection="text_projection", makes_vectors=True),
    "mobilebert": Family(
        "MobileBERT",
        parts=((r"^(output\.)?bottleneck", "other"),),
        padding_acts="the last token's word vector is made with the token behind it",
        embedding_note="A word's vector is a linear map of three narrow ones: the next token's, its own, the previous.",
    ),
    "modernbert": Family("ModernBERT", fused="one after the other", heads_compared=True),
    "mpnet": Family(
        "MPNet", positions_behind_padding=True, own_softmax=True, score_terms="relative position", heads_compared=True
    ),
    "mpt": Family("MPT", fused="one after the other", own_softmax=True),
    "mra": Family(
        "MRA",
        attention_maps="none",
        no_maps="MRA approximates attention on blocks of several resolutions and returns no map.",
    ),
    "mt5": Family("mT5", own_softmax=True),
    "neo_bert": Family(
        "NeoBERT", parts=((r"^qkv\b", "query_key_value"), (r"^wo\b", "attention_output")), fused="head by head"
    ),
    "nomic_bert": Family("Nomic BERT"),
    "nystromformer": Family(
        "Nyströmformer",
        score_terms="approximation by landmarks",
        beside_heads="convolution of the values",
        padding_acts="its landmarks and convolutions run over padding",
    ),
    "openai-gpt": Family("OpenAI GPT", fused="one after the other", own_softmax=True),
    "persimmon": Family("Persimmon", fused="head by head"),
    "phi3": Family("Phi-3", fused="one after the other"),
    "rembert": Family("RemBERT", own_softmax=True),
    "roberta": Family("RoBERTa", positions_behind_padding=True, heads_compared=True),
    "roberta-prelayernorm": Family("RoBERTa, norm first", positions_behind_padding=True),
    "roc_bert": Family(
        "RoCBert",
        embedding_note="A word's vector is a linear map of word, shape and pronunciation vectors put side by side.",
    ),
    "roformer": Family("RoFormer", own_softmax=True, score_terms="rotary positions of query and key"),
    "siglip": Family("SigLIP", text_part="text_model", makes_vectors=True, pads=True),
    "siglip2": Family("SigLIP 2", text_part="text_model", makes_vectors=True, pads=True),
    "siglip2_text_model": Family("SigLIP 2 text", makes_vectors=True, pads=True),
    "siglip_text_model": Family("SigLIP text", makes_vectors=True, pads=True),
    "splinter": Family("Splinter", own_softmax=True),
    "squeezebert": Family("SqueezeBERT", attention_maps="scores", own_softmax=True),
    STATIC_TYPE: Family(
        "StaticEmbedding",
        has_attention=False,
        attention_maps="none",
        no_maps="A static model is a table with one vector for each token, without layers, heads or attention.",
    ),
    "t5": Family("T5", parts=(("DenseReluDense", "feed_forward"),), own_softmax=True),
    "umt5": Family("UMT5", own_softmax=True),
    "xlm": Family("XLM", own_softmax=True, type_table="embeddings", embedding_note=TYPES_ARE_WORDS),
    "xlm-roberta": Family("XLM-RoBERTa", positions_behind_padding=True, heads_compared=True),
    "xlm-roberta-xl": Family("XLM-RoBERTa XL", positions_behind_padding=True),
    "xlnet": Family("XLNet", own_softmax=True, score_terms="relative position and segment"),
    "xmod": Family("X-MOD", positions_behind_padding=True),
    "yoso": Family(
        "YOSO",
        attention_maps="none",
        no_maps="YOSO estimates attention by hashing and returns no map.",
        padding_acts="its convolution runs over padding",
    ),
}


def family(model_type: str) -> Family:
    """The properties of a model type; those of BERT for a type that is not listed."""
    return FAMILIES.get(model_type) or Family(model_type)


PADDED_TOGETHER = frozenset(
    {
        *("albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet"),
        *("roberta", "xlm-roberta"),
    }
)
"""Families whose classification head reads the first token, or the mean of all that are not padding: pairs of different
lengths may be padded and run together."""
