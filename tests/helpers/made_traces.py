"""Hand-made tokens and traces, for properties of attention that need no model."""

from typing import Any

import numpy as np

from bertviz_core.trace.results import Tokens, Trace


def tokens_of(count: int) -> Tokens:
    """Tokens of one text without any further information."""
    ids, flags = np.arange(count), np.zeros(count, dtype=bool)
    names = tuple(f"t{index}" for index in range(count))
    return Tokens("", None, names, ids, None, None, None, (0,) * count, flags, flags, {}, None, "", (0, 0), ())


def spelled(
    pieces: str,
    text: str = "",
    *,
    pair: str | None = None,
    sequence: str = "",
    word_ids: tuple[int | None, ...] | None = None,
    offsets: tuple[tuple[int, int] | None, ...] | None = None,
    special: tuple[str, ...] = ("[CLS]", "[SEP]", "<s>", "</s>"),
) -> Tokens:
    """Tokens from their spelling, separated by blanks; `sequence` has "A" (default), "B" or "." (added) for each."""
    names = tuple(pieces.split(" "))
    flags = np.array([name in special for name in names])
    places = tuple({"A": 0, "B": 1}.get(each) for each in sequence or "A" * len(names))
    blank = np.zeros(len(names), dtype=bool)
    return Tokens(
        text,
        pair,
        names,
        np.arange(len(names)),
        None,
        word_ids,
        offsets,
        places,
        flags,
        blank,
        {},
        None,
        "",
        (0, 0),
        (),
    )


def made(query: Any, key: Any, mask: Any = None, scaling: float = 1.0, tokens: Tokens | None = None) -> Trace:
    """A trace of two layers, the second with this query and key, the first with zeros."""
    query, key = np.asarray(query, dtype=np.float32), np.asarray(key, dtype=np.float32)
    seq = query.shape[1]
    return Trace(
        model="made", revision="", model_type="bert", tokens=tokens or tokens_of(seq),
        hidden_states=np.zeros((3, seq, 7), dtype=np.float32), pooler_output=None,
        query=(np.zeros_like(query), query), key=(np.zeros_like(key), key), value=(np.zeros_like(key), key),
        masks=(None, mask), scaling=(9.0, scaling), attentions=None, attention_source="recorded", attention_note="",
        device="cpu", dtype="float32", seconds=0.0, notices=(),
    )  # fmt: skip


def mapped(*layers: Any, tokens: Tokens | None = None) -> Trace:
    """A trace that has these maps (heads, seq, seq), one array per layer, and no query and key."""
    maps = tuple(np.asarray(layer, dtype=np.float32) for layer in layers)
    for each in maps:
        each.setflags(write=False)
    seq = maps[0].shape[-1]
    return Trace(
        model="mapped", revision="", model_type="deberta", tokens=tokens or tokens_of(seq),
        hidden_states=np.zeros((len(maps) + 1, seq, 7), dtype=np.float32), pooler_output=None, query=None, key=None,
        value=None, masks=None, scaling=None, attentions=maps, attention_source="eager", attention_note="",
        device="cpu", dtype="float32", seconds=0.0, notices=(),
    )  # fmt: skip


def random_trace(
    heads: int, seq: int, width: int = 4, key_heads: int | None = None, mask: Any = None, tokens: Tokens | None = None
) -> Trace:
    """A trace with random query and key, the same in every call."""
    generator = np.random.default_rng(0)
    query = generator.normal(size=(heads, seq, width))
    key = generator.normal(size=(key_heads or heads, seq, width))
    return made(query, key, mask, width**-0.5 * 2, tokens)


PIECES = spelled(
    "[CLS] py ##th ##on , [SEP] my pet ##s [SEP]", "python,", pair="my pets", sequence=".AAAA.BBB.",
    word_ids=(None, 0, 0, 0, 1, None, 0, 1, 1, None),
    offsets=(None, (0, 2), (2, 4), (4, 6), (6, 7), None, (0, 2), (3, 6), (6, 7), None),
)  # fmt: skip
"""A pair of texts with words of several tokens, one of them before a comma."""
