"""The journey of a text through the model, as an interactive drawing."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bertviz_core.api.arguments import checked
from bertviz_core.api.drawing import require_file, write_content
from bertviz_core.api.results.base import Result
from bertviz_core.errors import TextError
from bertviz_core.figures.base.export import MEDIA, WIDTH
from bertviz_core.figures.base.style import THEMES, theme_named
from bertviz_core.journey.results import Journey
from bertviz_core.questions.interventions.journey_change import CHANGE, changed_journey, drawn_change
from bertviz_core.questions.interventions.journey_file import journey_page
from bertviz_core.questions.interventions.single_text import REMOVED_FOR
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.drawing_files import drawing_content
from bertviz_core.questions.tables.texts import journey_json, journey_lines
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.text import escape_controls, quoted

HEIGHT = 820
"""Height of the drawing in a notebook, in pixels."""


class JourneyResult(Result[Journey]):
    """What each layer does to every token; shown as an interactive drawing in a notebook."""

    figures = ("norms", "atlas", "hidden")

    def to_pandas(self) -> pd.DataFrame:
        """One row per layer and token: layer, token, label, turn, length, entropy."""
        way = self.data
        layers, tokens = np.divmod(np.arange(way.layers * len(way.labels)), max(len(way.labels), 1))
        columns: dict[str, Any] = {"layer": layers, "token": tokens, "label": [way.labels[at] for at in tokens]}
        measures = {"turn": way.turn, "length": way.length, "entropy": way.entropy}
        return pd.DataFrame({**columns, **{name: each.ravel() for name, each in measures.items() if each is not None}})

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
        opened, options = self._source.model, self._with(change, mean, edited)
        return journey_page(opened, options, theme_named(theme), change=drawn_change(opened, options))[0]

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
        page = self.html(theme=theme, change=change, mean=mean, edited=edited)
        pixels = MEDIA.get(medium, WIDTH)
        write_content(file, drawing_content(file.suffix.lower(), page, pixels, theme_named(theme), medium))

    def _with(self, change: str, mean: bool, edited: str) -> Options:
        options = self._source.options
        values = {CHANGE.key: change, REMOVED_FOR.key: REMOVED_FOR.options[mean], EDITED.key: edited}
        return replace(options, values={**options.values, **values})

    def _json(self) -> dict[str, Any]:
        return {"model": self._source.model.name, **journey_json(self.data)}

    def _lines(self) -> Sequence[str]:
        return journey_lines(self.data)

    def _repr_html_(self) -> str:
        """The drawing in a sandboxed frame without access to the notebook."""
        page = escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" width="100%" height="{HEIGHT}" '
            'style="border: 0" title="Journey of a text through a model"></iframe>'
        )
