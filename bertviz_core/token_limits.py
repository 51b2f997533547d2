"""How many tokens a model reads at once, from its config, its tokenizer and this instance's settings."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bertviz_core.text_families import text_family

UNSET = 1_000_000
"""A tokenizer without model_max_length reports 1e30; no model reads a million tokens."""
POSITION_KEYS = ("max_position_embeddings", "n_positions")


class TokenLimit(NamedTuple):
    """A limit and what sets it."""

    tokens: int | None
    reason: str


def position_limit(config: Mapping[str, Any]) -> TokenLimit | None:
    """Positions that a model has for tokens; None for one without a count of positions (T5, XLNet).

    A table of position ids that begin behind the padding id has pad + 1 rows that no token gets: RoBERTa's 514 rows
    carry 512 tokens. For rotary and relative positions the count is the length that the model was made for.

    Args:
        config: all values of the config, those that the file leaves out included.
    """
    rows = next((config[key] for key in POSITION_KEYS if isinstance(config.get(key), int)), 0)
    if rows <= 0:
        return None
    if text_family(str(config.get("model_type", ""))).first_position != "pad + 1":
        return TokenLimit(rows, f"the model has {rows:,} positions")
    unused = int(config.get("pad_token_id") or 0) + 1
    rest = max(rows - unused, 0)
    return TokenLimit(rest, f"the model has {rows:,} positions, of which the first {unused} carry no token")


def token_limit(config: Mapping[str, Any], model_max_length: int, max_tokens: int) -> TokenLimit:
    """The smallest of the limits of model, tokenizer and instance, and which one it is.

    Args:
        config: all values of the config.
        model_max_length: the tokenizer's own limit; huge where it has none.
        max_tokens: the instance's limit.
    """
    limits = [TokenLimit(max_tokens, f"this instance reads at most {max_tokens:,} (INSIDE_BERT_MAX_TOKENS)")]
    if model_max_length < UNSET:
        limits.append(TokenLimit(model_max_length, f"the tokenizer's model_max_length is {model_max_length:,}"))
    positions = position_limit(config)
    if positions is not None:
        limits.append(positions)
    return min(reversed(limits), key=lambda limit: limit.tokens or 0)
