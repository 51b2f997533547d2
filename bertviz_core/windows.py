"""Which layers attend to a window of neighbours only, from the config."""

from collections.abc import Mapping
from typing import Any


def layer_windows(config: Mapping[str, Any]) -> tuple[int | None, ...]:
    """For each layer how many tokens to each side a token attends to; None for all. Empty where no layer has a window.

    ModernBERT (Warner et al. 2024, section 2.1.1) alternates global layers with windows of local_attention tokens, half
    of them to each side; Longformer (Beltagy et al. 2020, section 3.1) has a window in every layer.

    Args:
        config: all values of the config, those that the file leaves out included.
    """
    layers = int(config.get("num_hidden_layers") or 0)
    if config.get("model_type") == "longformer":
        sizes = config.get("attention_window") or 512
        sizes = [sizes] * layers if isinstance(sizes, int) else list(sizes)
        return tuple(int(size) // 2 for size in sizes)
    kinds, width = config.get("layer_types"), config.get("local_attention")
    if not kinds or not width or config.get("model_type") != "modernbert":
        return ()
    return tuple(int(width) // 2 if kind == "sliding_attention" else None for kind in kinds)


def visible_pairs(seq: int, window: int | None) -> int:
    """Pairs of tokens (i, j) with |i - j| <= window; all of them without a window.

    seq + 2 * (seq - 1 + ... + seq - w) = seq + w * (2 * seq - w - 1), with w at most seq - 1.
    """
    if window is None or window >= seq:
        return seq * seq
    return seq + window * (2 * seq - window - 1)
