"""Open a corpus folder and search it."""

from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.api.drawing import FigureSource, Option
from bertviz_core.api.own_model import checked
from bertviz_core.api.results.base import Result
from bertviz_core.corpus.analysis.neighbours import ROWS
from bertviz_core.corpus.analysis.results import NeighbourChanges
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.results import CorpusHits
from bertviz_core.questions.corpora import neighbour_changes, neighbour_options, searched
from bertviz_core.questions.opened import OpenedFolder
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.corpora import CHANGES
from bertviz_core.questions.tables.texts import CORPUS, HITS
from bertviz_core.settings import Settings


class SearchResult(Result[CorpusHits]):
    """The rows of a corpus nearest to a text, in descending order of their score.

    Table: one row per hit: row of the corpus, score (cosine, -1 to 1), text, and the columns of the corpus.
    """

    figures = ("corpus-search",)
    _faces = HITS


class NeighbourChangesResult(Result[NeighbourChanges]):
    """Which rows of a corpus have other nearest rows under another model.

    Table: one row per compared row, those that keep the fewest neighbours first: row, number kept, text, and the
    nearest row before and now with its cosine and text.
    """

    figures = ("corpus-neighbours",)
    _faces = CHANGES


class OpenedCorpus(Result[Corpus]):
    """A folder of texts and their vectors, created by `corpus embed`.

    Table: one row per column of the corpus: name, kind.
    """

    figures = (
        *("corpus-map", "corpus-clusters", "corpus-duplicates", "corpus-heads", "corpus-probe"),
        "corpus-neighbours",
    )
    _faces = CORPUS

    def __init__(self, folder: OpenedFolder) -> None:
        super().__init__(folder.corpus, FigureSource(folder))
        self._folder = folder

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.data.rows

    @property
    def model(self) -> str:
        """Name of the model that computed the vectors."""
        return self.data.manifest.model

    @cached_property
    def vectors(self) -> Float[np.ndarray, "rows dimensions"]:
        """All vectors as a read-only memory map, float32 or float16."""
        mapped: np.memmap = np.load(self.data.vectors().path, mmap_mode="r")
        return mapped

    @checked
    def search(self, text: str, k: int = 10, *, where: str = "") -> SearchResult:
        """Find the rows with the largest cosine similarity to a text, by exhaustive search.

        Args:
            text: the query.
            k: number of rows to return.
            where: restricts the search to rows with a value in a column, such as "topic=sport"; "" for all rows.

        Raises:
            BertvizError: the model is not on this machine, there is no such column, or `k` is out of range.
        """
        hits = searched(self._folder, text, k, where).result
        options = Options((hits.query,), values={"hits": str(k), "where": where})
        return SearchResult(hits, FigureSource(self._folder, options))

    @checked
    def neighbours(self, model: "str | PathLike[str]", k: int = 10, *, rows: int = ROWS) -> NeighbourChangesResult:
        """Find the rows that have other nearest rows by the vectors of another model, which reads the texts anew.

        Args:
            model: name or folder of the other model.
            k: number of nearest rows that are compared.
            rows: number of rows that are compared with each other, evenly spaced in a larger corpus.

        Raises:
            BertvizError: the corpus keeps no texts, the model is not on this machine, or a number is out of range.
        """
        options = neighbour_options(fspath(model), k, rows)
        answer = neighbour_changes(self._folder, options)
        return NeighbourChangesResult(answer.result, FigureSource(self._folder, options, answer.notices))

    @checked
    def compute(self, name: str, *texts: str, **options: Option) -> Any:
        """Compute the data of a figure of the corpus: a frozen object with documented fields.

        Args:
            name: one of `figures`.
            *texts: the query.
            **options: options of the `figure` command.

        Raises:
            BertvizError: there is no such name or option, or the inputs are invalid.
        """
        return FigureSource(self._folder, Options(texts)).compute(name, options)


@checked
def opened_corpus(folder: "str | PathLike[str]") -> OpenedCorpus:
    """Open the corpus in a folder.

    Raises:
        BertvizError: there is no corpus, or its model must not be opened.
    """
    opened = OpenedFolder(Path(fspath(folder)), Settings.from_environment(any_folder=True))
    _ = opened.model.source  # fail early if the model must not be opened
    return OpenedCorpus(opened)
