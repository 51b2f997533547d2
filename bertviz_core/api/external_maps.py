"""Attention that a program of the caller has computed, drawn like that of an opened model."""

from collections.abc import Sequence
from functools import partial
from html import escape
from os import PathLike

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.api.drawing import drawn, require_file, save_figure
from bertviz_core.api.own_model import checked
from bertviz_core.attention.external_maps import atlas_of, head_map, head_measures, labelled, stacked, uneven
from bertviz_core.figures.attention.maps import atlas_heatmap, attention_heatmap, attention_lines
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.questions.figures import no_figure
from bertviz_core.questions.parameters import numbered
from bertviz_core.text import escape_controls


class AttentionMaps:
    """Attention weights of layers and heads over the tokens of a text, or of one text over those of another.

    `weights` is [layers, heads, queries, keys] in float32. `print(maps)` says what it is; a notebook shows all heads.
    """

    figures = ("attention", "atlas", "lines")
    """Names of its figures; the first is the default."""

    def __init__(self, attention: object, tokens: Sequence[str], key_tokens: Sequence[str] | None = None) -> None:
        """Check shapes, values and tokens; see `open_attention`."""
        self.weights: Float[np.ndarray, "layers heads queries keys"] = stacked(attention)
        queries, keys = self.weights.shape[2:]
        self._queries = labelled("tokens", tokens, queries)
        if key_tokens is None:
            self._keys = labelled("tokens", tokens, keys)
        else:
            self._keys = labelled("key_tokens", key_tokens, keys)

    @property
    def notices(self) -> tuple[str, ...]:
        """Remarks on the weights, one sentence each."""
        return tuple(filter(None, [uneven(self.weights)]))

    @checked
    def figure(
        self,
        name: str = "attention",
        *,
        layer: int = 0,
        head: int = 0,
        theme: str = "light",
        width: int | None = None,
        height: int | None = None,
    ) -> go.Figure:
        """Draw one head as a map ("attention") or as lines ("lines"), or all heads ("atlas").

        Args:
            name: one of `figures`.
            layer: zero-based.
            head: zero-based.
            theme: "light", "dark" or "print".
            width: pixels; defaults to the available width.
            height: pixels; defaults to that of the figure.

        Raises:
            BertvizError: there is no such figure, layer, head or theme.
        """
        return drawn(self._spec(name, layer, head), theme, width, height)

    @checked
    def save_figure(
        self,
        path: str | PathLike[str],
        name: str = "attention",
        *,
        layer: int = 0,
        head: int = 0,
        medium: str = "",
        theme: str = "light",
        width: int | None = None,
        height: int | None = None,
    ) -> None:
        """Write a figure to a file.

        Args:
            path: path of the file: .png, .svg, .pdf or .html. All but .html are drawn by Chrome or Chromium.
            name: one of `figures`.
            layer: zero-based.
            head: zero-based.
            medium: "slide", 16:9 (1600 x 900 pixels), or "column", 85 mm wide, of a paper; "" for the size of the
                figure.
            theme: "light", "dark" or "print".
            width: pixels of the figure; defaults to 1,000. A PNG has twice as many, at least 1,600.
            height: pixels; defaults to that of the figure.

        Raises:
            BertvizError: there is no such figure, layer, head, theme, medium or folder, or no browser.
        """
        spec = self._spec(name, layer, head)
        require_file(path, theme, medium, width, height)
        save_figure(path, spec, (), (), theme, medium, width, height)

    def _spec(self, name: str, layer: int, head: int) -> FigureSpec:
        if name not in self.figures:
            raise no_figure(name, self.figures, " of this result")
        layers, heads = self.weights.shape[:2]
        if name == "atlas":
            title = "Attention of all heads"
            atlas = atlas_of(self.weights, self._queries, self._keys)
            return FigureSpec(title, f"{title}, {layers} layers by {heads} heads", partial(atlas_heatmap, atlas, title))
        at = numbered("layer", str(layer), layers, "attention"), numbered("head", str(head), heads, "attention")
        one = head_map(self.weights[at], *at, self._queries, self._keys)
        title = f"Attention of layer {at[0]}, head {at[1]}"
        draw = attention_heatmap if name == "attention" else attention_lines
        return FigureSpec(title, title, partial(draw, one, (), title))

    def to_pandas(self) -> pd.DataFrame:
        """One row per layer and head: layer, head, entropy (nats), distance (tokens), diagonal_share."""
        measures = head_measures(self.weights)
        layers, heads = (each.ravel() for each in np.indices(self.weights.shape[:2]))
        shown = {name: getattr(measures, name).ravel() for name in ("entropy", "distance", "diagonal_share")}
        return pd.DataFrame({"layer": layers, "head": heads, **shown})

    def __repr__(self) -> str:
        summary = (
            f"Attention, layers x heads x queries x keys: {' x '.join(f'{size:,}' for size in self.weights.shape)}"
        )
        return "\n".join([summary, *map(escape_controls, self.notices)])

    def _repr_html_(self) -> str:
        """What it is, and the measures of every head."""
        return f"<p>{escape(repr(self))}</p>\n{self.to_pandas().to_html(max_rows=30)}"
