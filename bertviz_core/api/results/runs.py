"""Tokens of a text, and the hidden states and attention of a run."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bertviz_core.api.arguments import checked
from bertviz_core.api.results.base import Result
from bertviz_core.attention.maps import attention_map, attention_probs, require_attention
from bertviz_core.attention.results import AttentionMap, MapOptions
from bertviz_core.errors import TextError
from bertviz_core.questions.parameters import numbered
from bertviz_core.questions.tables.lines import json_object
from bertviz_core.questions.tables.texts import attention_json, hidden_json, hidden_lines, tokens_json, tokens_lines
from bertviz_core.trace.results import Tokens, Trace


class TokensResult(Result[Tokens]):
    """The tokens of a text or pair."""

    figures = ("tokens", "nearest", "tokenizers")

    @property
    def tokens(self) -> tuple[str, ...]:
        """Pieces as the vocabulary spells them, special tokens included."""
        return self.data.tokens

    @property
    def input_ids(self) -> Int[np.ndarray, " seq"]:
        """Vocabulary id of every token."""
        return self.data.input_ids

    def to_pandas(self) -> pd.DataFrame:
        """One row per token: token, input_ids, token_type_ids, word_ids, offsets, special, unknown."""
        names = ("input_ids", "token_type_ids", "word_ids", "offsets", "special", "unknown")
        known = {name: getattr(self.data, name) for name in names}
        columns = {name: list(values) for name, values in known.items() if values is not None}
        frame = pd.DataFrame({"token": self.data.tokens, **columns})
        return frame.astype({"word_ids": "Int64"}) if "word_ids" in frame else frame

    def _json(self) -> dict[str, Any]:
        return {"model": self._source.model.name, **tokens_json(self.data)}

    def _lines(self) -> Sequence[str]:
        return tokens_lines(self.data)


class TraceResult(Result[Trace]):
    """Result of a run on a text: hidden states of all layers, attention of all heads."""

    figures = (
        "attention",
        "atlas",
        "lines",
        "readings",
        "long",
        "hidden",
        "norms",
        "similarity",
        "paths",
        "input",
        "pooler",
        "cell",
        "mix",
        "products",
        "tokens",
    )

    def _own_notices(self) -> Sequence[str]:
        return (*self.data.tokens.notices, *self.data.notices)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Pieces as the vocabulary spells them, special tokens included."""
        return self.data.tokens.tokens

    @property
    def hidden_states(self) -> Float[np.ndarray, "states seq hidden"]:
        """Output of the embedding block (entry 0) and of every layer; states = layers + 1."""
        return self.data.hidden_states

    @property
    def last_hidden_state(self) -> Float[np.ndarray, "seq hidden"]:
        """Output of the last layer, one vector per token."""
        last: np.ndarray = self.data.hidden_states[-1]
        return last

    @property
    def pooler_output(self) -> Float[np.ndarray, " pooled"] | None:
        """Output of the pooler; None for a model without a pooler."""
        return self.data.pooler_output

    @checked
    def attention(self, layer: int, head: int | None = None) -> Float[np.ndarray, "*heads seq seq"]:
        """Return the attention probabilities of a head, [query, key], or of all heads of a layer, [head, query, key].

        Every row sums to 1. Maps are computed on each call and not cached.

        Args:
            layer: index of the layer, zero-based.
            head: index of the head, zero-based; None for all heads of the layer.

        Raises:
            BertvizError: the attention of this model is not available, or there is no such layer or head.
        """
        return attention_probs(self.data, self._layer(layer), None if head is None else self._head(head))

    @checked
    def to_pandas(self, layer: int | None = None, head: int | None = None, words: bool = False) -> pd.DataFrame:
        """Hidden states with one row per token and one column per dimension, or the attention of a head.

        Args:
            layer: index into `hidden_states` (0 is the embedding output), defaults to the last; with a head its layer.
            head: returns the attention of this head instead, with one row per query and one column per key.
            words: whether to merge pieces into words: sum over keys, mean over queries.

        Raises:
            BertvizError: there is no such layer or head.
        """
        if head is None:
            index = pd.Index(self.tokens, name="token")
            return pd.DataFrame(self.data.hidden_states[self._entry(layer)], index=index)
        attention = self._map(layer, head, words)
        keys, queries = pd.Index(attention.keys.labels, name="key"), pd.Index(attention.queries.labels, name="query")
        return pd.DataFrame(attention.weights, index=queries, columns=keys)

    @checked
    def to_json(self, layer: int | None = None, head: int | None = None, words: bool = False) -> dict[str, Any]:
        """The JSON of `hidden --layer L --json`; with a head that of `attention --layer L --head H --json`.

        Args:
            layer: index into `hidden_states`, defaults to the last; with a head its layer.
            head: index of the head.
            words: whether to merge pieces into words in the attention.

        Raises:
            BertvizError: there is no such layer or head.
        """
        if head is None:
            return json_object(hidden_json(self.data, self._entry(layer), False, None))
        return json_object(attention_json(self.data, self._map(layer, head, words)))

    def _json(self) -> dict[str, Any]:
        return hidden_json(self.data, self._entry(None), False, None)

    def _lines(self) -> Sequence[str]:
        return hidden_lines(self.data, self._entry(None), False, None)

    def _map(self, layer: int | None, head: int, words: bool) -> AttentionMap:
        chosen = numbered("layer", "" if layer is None else str(layer), self.data.num_hidden_layers, self.data.model)
        return attention_map(self.data, chosen, self._head(head), MapOptions(words=words))

    def _layer(self, layer: int) -> int:
        return numbered("layer", str(layer), self.data.num_hidden_layers, self.data.model)

    def _head(self, head: int) -> int:
        require_attention(self.data)
        return numbered("head", str(head), self.data.num_attention_heads, self.data.model)

    def _entry(self, layer: int | None) -> int:
        """Index into the hidden states; defaults to the last."""
        last = self.data.num_hidden_layers
        if layer is not None and layer not in range(last + 1):
            what = f"There is no layer {layer} in {self.data.model!r}"
            raise TextError(f"{what}; give layer 0 (the embedding output) to layer {last}.")
        return last if layer is None else layer
