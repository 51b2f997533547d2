"""A table: model type -> what is particular to the family; a type without a row gets the common case."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from bertviz_core.results import Parameter


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

BLOCK = 100_000
"""Weight of the first number where layers are counted in two steps."""


def family(model_type: str) -> Family:
    """The row of a model type; a type without one gets the common case under its own name."""
    return FAMILIES.get(model_type) or Family(model_type)


def layer_numbers(rows: list[Parameter]) -> list[Parameter]:
    """Rows whose layers are counted in two steps get the plain count 0, 1, 2, ... in the order of the model."""
    found = sorted({row.layer for row in rows if row.layer is not None})
    if not found or found[-1] < BLOCK:
        return rows
    plain = {layer: index for index, layer in enumerate(found)}
    return [replace(row, layer=plain[row.layer]) if row.layer is not None else row for row in rows]


def layer_applications(config: Mapping[str, Any]) -> dict[int, int]:
    """How often one forward pass runs each stored layer, where that is not once (ALBERT, Funnel).

    ALBERT (Lan et al. 2020, section 3.1) shares parameters across layers: layer i uses group i // (layers / groups).
    """
    if config.get("model_type") == "albert":
        layers = int(config.get("num_hidden_layers", 12))
        groups, inner = int(config.get("num_hidden_groups", 1)), int(config.get("inner_group_num", 1))
        used = Counter(int(layer / (layers / groups)) for layer in range(layers))
        return {group * inner + index: count for group, count in used.items() for index in range(inner)}
    if config.get("model_type") == "funnel":
        sizes = config.get("block_sizes") or [4, 4, 4]
        repeats = config.get("block_repeats") or [1] * len(sizes)
        plain = [repeat for size, repeat in zip(sizes, repeats, strict=False) for _ in range(size)]
        return dict(enumerate(plain))
    return {}
