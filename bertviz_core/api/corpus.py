"""A corpus folder that is open: what it holds, and a search among its rows."""

from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bertviz_core.api.arguments import checked
from bertviz_core.api.drawing import FigureSource, Option
from bertviz_core.api.results.base import Result
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.search.results import CorpusHits
from bertviz_core.questions.corpora import searched
from bertviz_core.questions.opened import OpenedFolder
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.corpora import hit_lines, hits_json, info_json, info_lines
from bertviz_core.settings import Settings


class SearchResult(Result[CorpusHits]):
    """Rows of a corpus that are nearest to a text, the nearest first."""

    figures = ("corpus-search",)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each hit: row of the corpus, score (cosine, -1 to 1), text, and the corpus' own columns."""
        frame = pd.DataFrame(self._json()["hits"])
        own = ["row", "score", "text"]
        return frame[[*own, *(name for name in frame if name not in own)]] if len(frame) else frame

    def _json(self) -> dict[str, Any]:
        return hits_json(self.data)

    def _lines(self) -> Sequence[str]:
        return hit_lines(self.data)


class OpenedCorpus(Result[Corpus]):
    """A folder of texts and their vectors, as `corpus embed` makes it."""

    figures = ("corpus-map", "corpus-clusters", "corpus-duplicates", "corpus-heads", "corpus-probe")

    def __init__(self, folder: OpenedFolder) -> None:
        super().__init__(folder.corpus, FigureSource(folder))
        self._folder = folder

    @property
    def rows(self) -> int:
        """Count of rows."""
        return self.data.rows

    @property
    def model(self) -> str:
        """Name of the model that made the vectors."""
        return self.data.manifest.model

    @cached_property
    def vectors(self) -> Float[np.ndarray, "rows dimensions"]:
        """All vectors, a map of the file that cannot be written to; float32 or float16."""
        mapped: np.memmap = np.load(self.data.vectors().path, mmap_mode="r")
        return mapped

    @checked
    def search(self, text: str, k: int = 10, *, where: str = "") -> SearchResult:
        """The rows whose vectors have the greatest cosine with that of a text; every row is compared.

        Args:
            text: what is looked for.
            k: rows that are wanted.
            where: only rows with this value of a column, such as "topic=sport"; "" for all.

        Raises:
            BertvizError: the corpus' model is not here, there is no such column, or `k` is out of range.
        """
        hits = searched(self._folder, text, k, where).result
        options = Options((hits.query,), values={"hits": str(k), "where": where})
        return SearchResult(hits, FigureSource(self._folder, options))

    @checked
    def compute(self, name: str, *texts: str, **options: Option) -> Any:
        """The numbers that any figure of a corpus is drawn from: a frozen object, its fields documented.

        Args:
            name: one of `figures`.
            *texts: what is looked for.
            **options: those of the command `figure`.

        Raises:
            BertvizError: there is no such name or option, or as the figure's inputs.
        """
        return FigureSource(self._folder, Options(texts)).compute(name, options)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each column of the corpus: name, kind."""
        return pd.DataFrame(self._json()["columns"])

    def _json(self) -> dict[str, Any]:
        return info_json(self.data)

    def _lines(self) -> Sequence[str]:
        return info_lines(self.data)


@checked
def opened_corpus(folder: "str | PathLike[str]") -> OpenedCorpus:
    """The corpus in a folder.

    Raises:
        BertvizError: there is no corpus, or its model may not be opened.
    """
    opened = OpenedFolder(Path(fspath(folder)), Settings.from_environment(any_folder=True))
    _ = opened.model.source  # a corpus whose model may not be opened is refused at once
    return OpenedCorpus(opened)
