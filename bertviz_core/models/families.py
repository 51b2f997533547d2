"""A table: model_type -> what is particular when a family reads a text; a type without a row gets the common case.

The common case is BERT's: position 0 comes first, output_attentions returns probabilities, padding changes nothing,
and the embedding block is word + position + type, then a normalisation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Family:
    """What is particular to one model type; every field has the common case as its default."""

    title: str
    """The family's name in prose."""
    positions: str = ""
    """"absolute", "relative" or "rotary"; "" to read it from the names and the config."""
    attention: str = ""
    """"none" for a family that mixes tokens without attention maps; "" for the ordinary case."""
    layers: str = ""
    """Pattern with the layer's index (or block and index) as its groups; "" for the first number in the name."""
    parts: tuple[tuple[str, str], ...] = ()
    """(pattern of a name inside the layer, part), tried before the common vocabulary."""
    norm_first: bool = False
    """Whether a layer normalises before attention and feed-forward, not behind them."""


FAMILIES: Mapping[str, Family] = {
    "albert": Family("ALBERT", layers=r"albert_layer_groups\.(\d+)\.albert_layers\.(\d+)\."),
    "bert": Family("BERT"),
    "big_bird": Family("BigBird"),
    "camembert": Family("CamemBERT"),
    "convbert": Family("ConvBERT"),
    "data2vec-text": Family("data2vec text"),
    "deberta": Family("DeBERTa", positions="relative", parts=((r"attention\.self\.in_proj", "query_key_value"),)),
    "deberta-v2": Family("DeBERTa v2 and v3", positions="relative"),
    "distilbert": Family("DistilBERT"),
    "electra": Family("ELECTRA"),
    "ernie": Family("ERNIE"),
    "esm": Family("ESM", norm_first=True),
    "eurobert": Family("EuroBERT", positions="rotary", norm_first=True),
    "fnet": Family("FNet", attention="none"),
    "funnel": Family("Funnel Transformer", positions="relative", layers=r"encoder\.blocks\.(\d+)\.(\d+)\."),
    "ibert": Family("I-BERT"),
    "jina_embeddings_v3": Family("Jina embeddings v3", positions="rotary"),
    "layoutlm": Family("LayoutLM"),
    "longformer": Family("Longformer"),
    "luke": Family("LUKE"),
    "megatron-bert": Family("Megatron-BERT", norm_first=True),
    "mobilebert": Family("MobileBERT", parts=((r"^(output\.)?bottleneck", "other"),)),
    "modernbert": Family("ModernBERT", positions="rotary", norm_first=True),
    "mpnet": Family("MPNet"),
    "mra": Family("MRA"),
    "nomic_bert": Family("Nomic BERT", positions="rotary"),
    "nystromformer": Family("Nyströmformer"),
    "rembert": Family("RemBERT"),
    "roberta": Family("RoBERTa"),
    "roberta-prelayernorm": Family("RoBERTa, norm first", norm_first=True),
    "roc_bert": Family("RoCBert"),
    "roformer": Family("RoFormer", positions="rotary"),
    "splinter": Family("Splinter"),
    "squeezebert": Family("SqueezeBERT"),
    "t5": Family("T5", positions="relative", norm_first=True, parts=((r"DenseReluDense", "feed_forward"),)),
    "xlm": Family("XLM"),
    "xlm-roberta": Family("XLM-RoBERTa"),
    "xlm-roberta-xl": Family("XLM-RoBERTa XL", norm_first=True),
    "xlnet": Family("XLNet", positions="relative"),
    "yoso": Family("YOSO"),
}


def family(model_type: str) -> Family:
    """The row of a model type; a type without one gets the common case under its own name."""
    return FAMILIES.get(model_type) or Family(model_type)


AttentionMaps = Literal["probabilities", "scores", "band", "none"]
"""What output_attentions returns: weights after the softmax, scores before it, weights of the keys near the diagonal
only, or nothing that is a map."""
FirstPosition = Literal["0", "2", "pad + 1"]
"""Row of the position table that the first token gets."""


@dataclass(frozen=True, slots=True)
class TextFamily:
    """What is particular to one model type when it reads a text."""

    first_position: FirstPosition = "0"
    """Row of the position table that the first token gets; "pad + 1" counts from behind the padding id."""
    attention_maps: AttentionMaps = "probabilities"
    """What the model's own output_attentions returns."""
    no_maps: str = ""
    """Why there are no attention maps, one sentence; "" where there are."""
    padding_acts: str = ""
    """How padding reaches the other tokens, one clause; "" where it does not."""
    type_table: str = "embeddings.token_type_embeddings"
    """Table that token types are looked up in."""
    constant_terms: tuple[tuple[str, int], ...] = ()
    """(embedding table, how often its row 0 is added to every token), beside word, position and type."""
    embedding_note: str = ""
    """What the embedding block does beside the sum and the normalisation, one sentence."""


LAYOUT = "embeddings.{}_position_embeddings"
BEHIND_PADDING = TextFamily(first_position="pad + 1")
TYPES_AS_WORDS = TextFamily(
    type_table="embeddings",
    embedding_note="Token types are rows of the vocabulary table, where the tokenizer gives types.",
)

TEXT_FAMILIES: Mapping[str, TextFamily] = {
    "bart": TextFamily(first_position="2"),
    "biogpt": TextFamily(first_position="2"),
    "big_bird": TextFamily(padding_acts="a text padded beyond a certain length is attended to in blocks"),
    "camembert": BEHIND_PADDING,
    "convbert": TextFamily(padding_acts="its convolutions reach over the edge of the text"),
    "data2vec-text": BEHIND_PADDING,
    "ernie": TextFamily(
        constant_terms=(("embeddings.task_type_embeddings", 1),),
        embedding_note="A task embedding (task 0) is added where the checkpoint has one.",
    ),
    "esm": TextFamily(
        first_position="pad + 1",
        embedding_note="Word vectors are scaled by 0.88 / (1 - share of masked tokens) where token_dropout is on.",
    ),
    "flaubert": TYPES_AS_WORDS,
    "fnet": TextFamily(
        attention_maps="none",
        no_maps="FNet mixes tokens by Fourier transforms and has no attention.",
        padding_acts="its Fourier transforms run over padding as over any token",
    ),
    "gpt2": TextFamily(type_table="wte", embedding_note="Token types are rows of the vocabulary table, where given."),
    "ibert": BEHIND_PADDING,
    "layoutlm": TextFamily(
        constant_terms=tuple((LAYOUT.format(axis), times) for axis, times in zip("xyhw", (2, 2, 1, 1), strict=True)),
        embedding_note="Six layout vectors are added; without a page the same for all tokens: box (0, 0, 0, 0).",
    ),
    "lilt": TextFamily(
        first_position="pad + 1",
        embedding_note="The layout goes through a stream of its own, which is not part of this sum.",
    ),
    "longformer": TextFamily(first_position="pad + 1", attention_maps="band"),
    "luke": BEHIND_PADDING,
    "markuplm": TextFamily(
        first_position="pad + 1",
        embedding_note="A vector of the place in the page (XPath) is added; it is not part of this sum.",
    ),
    "mobilebert": TextFamily(
        embedding_note="A word's vector is a linear map of three narrow ones: the next token's, its own, the previous.",
        padding_acts="the last token's word vector is made with the token behind it",
    ),
    "mpnet": BEHIND_PADDING,
    "mra": TextFamily(
        first_position="2",
        attention_maps="none",
        no_maps="MRA approximates attention on blocks of several resolutions and returns no map.",
    ),
    "nystromformer": TextFamily(first_position="2", padding_acts="its landmarks and convolutions run over padding"),
    "roberta": BEHIND_PADDING,
    "roberta-prelayernorm": BEHIND_PADDING,
    "roc_bert": TextFamily(
        embedding_note="A word's vector is a linear map of word, shape and pronunciation vectors put side by side."
    ),
    "squeezebert": TextFamily(attention_maps="scores"),
    "xlm": TYPES_AS_WORDS,
    "xlm-roberta": BEHIND_PADDING,
    "xlm-roberta-xl": BEHIND_PADDING,
    "xmod": BEHIND_PADDING,
    "yoso": TextFamily(
        first_position="2",
        attention_maps="none",
        no_maps="YOSO estimates attention by hashing and returns no map.",
        padding_acts="its convolution runs over padding",
    ),
}


def text_family(model_type: str) -> TextFamily:
    """The row of a model type; the common case for a type without one."""
    return TEXT_FAMILIES.get(model_type) or TextFamily()
