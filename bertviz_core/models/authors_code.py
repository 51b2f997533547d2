"""Configs of models whose authors' code is on the Hub, translated for the classes that compute them here.

No code of a folder is run. Torch is not imported.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.sanitized.entries import described
from bertviz_core.text import quoted

IMPLEMENTED: Mapping[str, str] = {
    "gte": "transformers' GteModel",
    "jina_bert": "Inside BERT's own implementation of JinaBERT v2",
    "neo_bert": "Inside BERT's own implementation of NeoBERT",
}
"""Model type of a translated config -> what computes it."""
GTE = "new"
"""Model type of the authors' code of GTE (Alibaba-NLP/new-impl)."""
GTE_DEFAULTS: Mapping[str, Any] = {"vocab_size": 30_528, "max_position_embeddings": 2_048, "pad_token_id": None}
"""Defaults of the authors' code other than those of transformers."""
GTE_ONLY: Mapping[str, Any] = {
    "position_embedding_type": "rope",
    "layer_norm_type": "layer_norm",
    "logn_attention_scale": False,
    "pack_qkv": True,
}
"""Entry of the authors' config -> its only value that transformers' class computes."""
NEOBERT = "neobert"
"""Model type of the authors' code of NeoBERT."""
NEOBERT_DEFAULTS: Mapping[str, Any] = {"intermediate_size": 3_072, "max_length": 1_024, "norm_eps": 1e-6}
"""Defaults of the authors' code for the entries that have other names or meanings here."""
NEOBERT_ONLY: Mapping[str, Any] = {"rope": True, "rms_norm": True, "hidden_act": "swiglu", "ngpt": False}
"""Entry of a config of NeoBERT -> its only value that is computed here."""
NEOBERT_CLASSES: Mapping[str, str] = {
    "NeoBERT": "NeoBertModel",
    "NeoBERTLMHead": "NeoBertForMaskedLM",
    "NeoBERTForSequenceClassification": "NeoBertForSequenceClassification",
}
"""Class of the authors -> class here."""
THETA = 10_000.0
"""Base of the rotary positions of NeoBERT, and the default in the authors' code of GTE."""
JINA_CODE, JINA_CODE_QK = "jina-bert-implementation", "jina-bert-v2-qk-post-norm"
"""Repositories of JinaBERT's code; the second one normalises queries and keys."""
JINA_ENTRIES = ("feed_forward_type", "emb_pooler")
"""Entries of a config that JinaBERT has and BERT has not."""


def translated(name: str, config: Mapping[str, Any], tensors: Callable[[], Iterable[str]]) -> Mapping[str, Any]:
    """A config for the class that computes a model without its author's code; any other config as it is.

    Args:
        tensors: the names of the tensors in its files; called if the config does not tell.
    """
    model_type = config.get("model_type")
    if model_type == GTE or (model_type == "gte" and _rope(config).get("type") == "ntk"):
        return _gte(name, config)
    if model_type == "bert" and _is_jina(config):
        return _jina(name, config, tensors)
    if model_type == NEOBERT:
        return _neobert(name, config)
    return config


def _only(name: str, config: Mapping[str, Any], values: Mapping[str, Any], computing: str) -> None:
    """Refuse an entry with another value than the one that is computed."""
    for key, value in values.items():
        if (found := config.get(key, value)) != value:
            raise CheckpointError(
                f"The config of {quoted(name)} has {described(found)} as {quoted(key)}; {computing}, has "
                f"{described(value)} alone, and its author's code is never run."
            )


def _neobert(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """NeoBERT's config with the names of transformers.

    Its gated layers have two thirds of the width that the config says, rounded up to a multiple of 8.
    """
    act = config.get("hidden_act")
    read = {**config, "hidden_act": act.lower()} if isinstance(act, str) else config
    _only(name, read, NEOBERT_ONLY, f"{IMPLEMENTED['neo_bert']}, which computes it here")
    entries = {**NEOBERT_DEFAULTS, **config}
    wide = entries.pop("intermediate_size")
    if type(wide) is int and wide > 0:  # sizes are checked with all entries
        wide = -(2 * wide // 3 // -8) * 8
    renamed = {
        "model_type": "neo_bert",
        "intermediate_size": wide,
        "max_position_embeddings": entries.pop("max_length"),
        "rms_norm_eps": entries.pop("norm_eps"),
        "rope_parameters": {"rope_type": "default", "rope_theta": THETA},
    }
    named = config.get("architectures")
    if isinstance(named, list):
        renamed["architectures"] = [NEOBERT_CLASSES.get(str(each), each) for each in named]
    left_out = (*NEOBERT_ONLY, "dim_head", "kwargs")
    return {**{key: value for key, value in entries.items() if key not in left_out}, **renamed}


def _gte(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """GTE's config with the names and defaults of transformers' own class."""
    _only(name, config, GTE_ONLY, f"{IMPLEMENTED['gte']}, which computes GTE here")
    left_out = {*GTE_ONLY, "rope_scaling", "rope_theta", "logn_attention_clip1"}
    entries = {key: value for key, value in config.items() if key not in left_out}
    named = config.get("architectures")
    if isinstance(named, list) and all(isinstance(each, str) for each in named):
        entries["architectures"] = [f"Gte{each[3:]}" if each.startswith("New") else each for each in named]
    return {**GTE_DEFAULTS, **entries, "model_type": "gte", "rope_parameters": _gte_rotation(name, config)}


def _rope(config: Mapping[str, Any]) -> dict[str, Any]:
    """The entries about rotary positions; "type" is their kind."""
    scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
    entries = dict(scaling) if isinstance(scaling, Mapping) else {"type": scaling}
    theta = entries.get("rope_theta", config.get("rope_theta"))
    kind = entries.get("rope_type", entries.get("type", "default"))
    return {**entries, "type": kind, "rope_theta": THETA if theta is None else theta}


def _gte_rotation(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Rotary positions as transformers says them.

    NTK scaling by a factor f of a head of d numbers has the base f * theta, and divides the frequencies by f^(2 / d).
    """
    rope = _rope(config)
    theta, kind = rope["rope_theta"], rope["type"]
    factor: Any = rope.get("factor")
    if kind not in ("ntk", "default") or rope.get("mixed_b") is not None:
        raise CheckpointError(
            f"The config of {quoted(name)} scales its rotary positions by {described(kind)}"
            f"{' with mixed_b' if kind == 'ntk' else ''}; of GTE, 'ntk' without mixed_b is computed here."
        )
    if not _is_number(theta) or (kind == "ntk" and not _is_number(factor)):
        wrong, key = (factor, "factor") if _is_number(theta) else (theta, "rope_theta")
        raise CheckpointError(
            f"The config of {quoted(name)} has {described(wrong)} as {quoted(key)}; a number above 0 is needed."
        )
    hidden, heads = config.get("hidden_size", 768), config.get("num_attention_heads", 12)
    head_dim = hidden // heads if all(type(each) is int and each > 0 for each in (hidden, heads)) else 0
    if head_dim and hidden % heads:
        raise CheckpointError(
            f"The config of {quoted(name)} has {heads:,} as 'num_attention_heads', which do not divide its hidden_size "
            f"of {hidden:,}."
        )
    if kind == "default" or factor <= 1 or not head_dim:  # sizes are checked with all entries
        return {"rope_type": "default", "rope_theta": theta}
    return {"rope_type": "linear", "rope_theta": theta * factor, "factor": factor ** (2 / head_dim)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _is_jina(config: Mapping[str, Any]) -> bool:
    """Whether a config of the type bert is one of JinaBERT.

    One with ALiBi alone is not: transformers and sentence-transformers run it as BERT.
    """
    has_alibi = config.get("position_embedding_type") == "alibi"
    return "jinabert" in _code_names(config).lower() or (has_alibi and any(key in config for key in JINA_ENTRIES))


def _code_names(config: Mapping[str, Any]) -> str:
    """The names of code and classes in a config, as one text."""
    code = config.get("auto_map")
    values = [*code.values()] if isinstance(code, Mapping) else []
    return " ".join(str(each) for each in (*values, config.get("architectures"), config.get("_name_or_path")))


def _jina(name: str, config: Mapping[str, Any], tensors: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """JinaBERT's config with the name of its variant."""
    names = _code_names(config)
    is_told = JINA_CODE in names or JINA_CODE_QK in names
    has_norms = JINA_CODE_QK in names if is_told else any(".layer_norm_q." in tensor for tensor in tensors())
    if has_norms and config.get("feed_forward_type", "original") == "original":
        raise CheckpointError(
            f"The config of {quoted(name)} has {described(config.get('feed_forward_type'))} as 'feed_forward_type'; a "
            "JinaBERT that normalises queries and keys is computed here with gated layers (geglu, reglu) alone."
        )
    entries = {key: value for key, value in config.items() if key != "attn_implementation"}  # a way to compute the same
    return {**entries, "model_type": "jina_bert", "qk_post_norm": has_norms}
