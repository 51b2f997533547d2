"""Tokens, runs and journeys of a text."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bertviz_core.api.drawing import Option, require_file, write_content
from bertviz_core.api.own_model import checked
from bertviz_core.api.results.base import Result
from bertviz_core.attention.maps import attention_map, attention_probs, require_attention
from bertviz_core.attention.results import AttentionMap, MapOptions
from bertviz_core.errors import TextError
from bertviz_core.figures.base.export import MEDIA, WIDTH, Caption
from bertviz_core.figures.base.style import THEMES, theme_named
from bertviz_core.journey.results import Journey
from bertviz_core.lazy_imports import optional
from bertviz_core.questions.interventions.effects import REMOVED_FOR
from bertviz_core.questions.interventions.journey_change import (
    CHANGE,
    changed_journey,
    drawn_change,
    journey_caption,
    journey_page,
)
from bertviz_core.questions.parameters import Options, numbered
from bertviz_core.questions.tables.lines import json_object
from bertviz_core.questions.tables.texts import JOURNEY, attention_faces, hidden_faces
from bertviz_core.questions.tables.tokens import TOKENS
from bertviz_core.questions.tables.vocabulary import VOCABULARY
from bertviz_core.questions.texts.attention import reading_of
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Tokens, Trace, VocabularyUse

WIDGET = "notebook", "anywidget", "A widget of a notebook"


class VocabularyResult(Result[VocabularyUse]):
    """What a list of texts uses of the vocabulary.

    Table: one row per script: kind, rows, used, share used, tokens, share of tokens.
    """

    figures = ("vocabulary", "vocabulary-coverage")
    _faces = VOCABULARY


class TokensResult(Result[Tokens]):
    """The tokens of a text or pair.

    Table: one row per token: token, input_ids, token_type_ids, word_ids, offsets, special, unknown.
    """

    figures = ("tokens", "nearest", "tokenizers")
    _faces = TOKENS

    @property
    def tokens(self) -> tuple[str, ...]:
        """Pieces as the vocabulary spells them, special tokens included."""
        return self.data.tokens

    @property
    def input_ids(self) -> Int[np.ndarray, " seq"]:
        """Vocabulary id of every token."""
        return self.data.input_ids

    def _json(self) -> dict[str, Any]:
        return {"model": self._source.model.name, **super()._json()}


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

        Every row sums to 1; of a model with attention sinks (gpt-oss) the rest to 1 is the share of the sink, which
        `to_pandas` has as a column. Maps are computed on each call and not cached.

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
            return json_object(hidden_faces(self._entry(layer)).to_json(self.data))
        return json_object(attention_faces(self.data).to_json(self._map(layer, head, words)))

    @checked
    def widget(self, *, layer: int = 0, head: int = 0, mode: str = "maps", **options: Option) -> Any:
        """All heads as a live drawing in a notebook, an `anywidget.AnyWidget`; needs the extra notebook.

        Its traits follow clicks, and the drawing follows them: `layer`, `head`, `heads` (all that are compared),
        `mode`, `cell`, `zoom`, `theme`.

        Args:
            layer: index of the layer of the open head.
            head: index of the open head.
            mode: "maps" or "lines".
            **options: options of the figure "atlas", such as `weights="rollout"` or `hide_special=True`.

        Raises:
            BertvizError: the attention of this model is not available, there is no such layer, head, mode or option,
                or anywidget is not installed.
        """
        require_attention(self.data)
        drawn = self._source.options_of("atlas", options, ("atlas",))
        with optional(*WIDGET):
            from bertviz_core.api.widgets import AttentionWidget
        return AttentionWidget(self._source.model, self.data, reading_of(drawn), layer=layer, head=head, mode=mode)

    def _json(self) -> dict[str, Any]:
        return hidden_faces(self._entry(None)).to_json(self.data)

    def _lines(self) -> Sequence[str]:
        return hidden_faces(self._entry(None)).to_lines(self.data)

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


HEIGHT = 820
"""Height of the drawing in a notebook, in pixels."""


class JourneyResult(Result[Journey]):
    """What each layer does to every token; shown as an interactive drawing in a notebook.

    Table: one row per layer and token: layer, token, label, turn, length, entropy.
    """

    figures = ("norms", "atlas", "hidden")
    _faces = JOURNEY

    @checked
    def changed(self, change: str, *, mean: bool = False, edited: str = "") -> pd.DataFrame:
        """The same journey with one change, one row per layer and token: before, after and difference per number.

        Columns: layer, token, label, label_after, then for each of turn, length and entropy NAME, NAME_after and
        NAME_difference (after minus before).

        Args:
            change: "head-LAYER.HEAD" or "layer-LAYER" to switch off, "mask-POSITION" to mask a token, or "text" to
                edit the text: the tokens are then those of the edited text, and a new one has no numbers before.
            mean: whether a head or layer is replaced by its mean over the reference set instead of zero.
            edited: the edited text, for "text".

        Raises:
            BertvizError: there is no such head, layer or token, or this model cannot be changed so.
        """
        both = changed_journey(self._source.model, self._with(change, mean, edited)).result
        before, other = (JourneyResult(each, self._source).to_pandas() for each in (both.before, both.after))
        table = before[["layer", "token", "label"]].assign(label_after=other["label"])
        if both.origin is not None:
            table.loc[np.asarray(both.origin)[table["token"]] < 0, "label"] = ""
        for name in before.columns[3:]:
            table[name], table[f"{name}_after"] = before[name], other[name]
            table[f"{name}_difference"] = other[name] - before[name]
        return table

    @checked
    def html(self, *, theme: str = "light", change: str = "", mean: bool = False, edited: str = "") -> str:
        """The drawing as a self-contained HTML page.

        Args:
            theme: "light", "dark" or "print".
            change: a change of the run as in `changed`; the drawing then shows differences.
            mean: as in `changed`.
            edited: as in `changed`.

        Raises:
            BertvizError: there is no such theme, or the change is not possible.
        """
        if theme not in THEMES:
            raise TextError(f"There is no theme {quoted(escape_controls(theme), 20)}; choose {', '.join(THEMES)}.")
        return self._page(theme, change, mean, edited)[0]

    def _page(self, theme: str, change: str, mean: bool, edited: str) -> tuple[str, Caption]:
        """The page of the drawing, and the caption of its images."""
        opened, options = self._source.model, self._with(change, mean, edited)
        made = drawn_change(opened, options)
        page, answer = journey_page(opened, options, theme_named(theme), change=made)
        return page, journey_caption(answer.result, answer.models, made)

    @checked
    def save(
        self,
        path: str | PathLike[str],
        *,
        medium: str = "",
        theme: str = "light",
        change: str = "",
        mean: bool = False,
        edited: str = "",
    ) -> None:
        """Write the drawing to a self-contained HTML file, or as an image of how it begins.

        Args:
            path: path of the file: .html, which opens layer by layer, or .png, .svg or .pdf, which are drawn by Chrome
                or Chromium.
            medium: size of an image: "slide", 16:9 (1600 x 900 pixels), or "column", 85 mm wide, of a paper, which has
                one token from top to bottom; "" for 1,000 pixels wide.
            theme: "light", "dark" or "print".
            change: a change of the run as in `changed`; the drawing then shows differences.
            mean: as in `changed`.
            edited: as in `changed`.

        Raises:
            BertvizError: there is no such theme, medium or folder, the change is not possible, there is no browser, or
                the file cannot be written.
        """
        file = Path(path)
        require_file(path, theme, medium, None, None)
        page, below = self._page(theme, change, mean, edited)
        pixels = MEDIA.get(medium, WIDTH)
        from bertviz_core.questions.report.files import drawing_file  # which imports every figure

        write_content(file, drawing_file(file.suffix.lower(), page, pixels, theme_named(theme), medium, below))

    @checked
    def widget(
        self,
        *,
        token: int | None = None,
        layer: int | str | None = None,
        head: int | None = None,
        key: int | None = None,
        change: str = "",
        mean: bool = False,
        edited: str = "",
    ) -> Any:
        """The drawing, live in a notebook, an `anywidget.AnyWidget`; needs the extra notebook.

        Its traits follow clicks, and the drawing follows them: the arguments, `colour`, `ribbon`, `lanes` and `theme`.
        What is opened, and a change, is computed when it is asked for.

        Args:
            token: position of the chosen token; defaults to the longest.
            layer: index of the open layer, or "embeddings"; None for no open part.
            head: index of the open head of that layer.
            key: position of the key token of that head; defaults to the strongest.
            change: a change of the run as in `changed`; the drawing then shows differences.
            mean: as in `changed`.
            edited: as in `changed`.

        Raises:
            BertvizError: there is no such token, layer or head, the change is not possible, or anywidget is not
                installed.
        """
        with optional(*WIDGET):
            from bertviz_core.api.widgets import JourneyWidget
        chosen = {"token": token, "layer": layer, "head": head, "key": key, "mean": mean, "edited": edited}
        known = {name: value for name, value in chosen.items() if value is not None}
        return JourneyWidget(self._source.model, self._source.options, **known, change=change)

    def _with(self, change: str, mean: bool, edited: str) -> Options:
        options = self._source.options
        values = {CHANGE.key: change, REMOVED_FOR.key: REMOVED_FOR.options[mean], EDITED.key: edited}
        return replace(options, values={**options.values, **values})

    def _json(self) -> dict[str, Any]:
        return {"model": self._source.model.name, **super()._json()}

    def _repr_html_(self) -> str:
        """The drawing in a sandboxed frame without access to the notebook."""
        page = escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" width="100%" height="{HEIGHT}" '
            'style="border: 0" title="Journey of a text through a model"></iframe>'
        )
