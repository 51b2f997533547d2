"""Sentence embeddings, their similarities, and nearest neighbours."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bertviz_core.api.arguments import checked
from bertviz_core.api.drawing import FigureSource
from bertviz_core.api.results.base import Result
from bertviz_core.errors import TextError
from bertviz_core.figures.sentences.dimensions import dimensions_frame
from bertviz_core.questions.tables.lines import aligned, printable_token
from bertviz_core.questions.tables.sentences import similarity_json, similarity_lines
from bertviz_core.questions.tables.two_models.sentences import dimensions_json, dimensions_lines
from bertviz_core.questions.texts.dimensions import fewer_dimensions
from bertviz_core.questions.texts.sentences import encoded_sentences
from bertviz_core.sentences.results import DimensionCurve, Neighbours, SentenceVectors
from bertviz_core.sentences.similarity import nearest, similarity_matrix
from bertviz_core.text import repair_surrogates


class NearestResult(Result[Neighbours]):
    """The sentences nearest to a query, in descending order of their similarity."""

    figures = ("query",)

    def __init__(self, data: Neighbours, source: FigureSource, query: str) -> None:
        super().__init__(data, source)
        self.query = query
        """The query."""

    def to_pandas(self) -> pd.DataFrame:
        """One row per sentence: its index in the list, its text, and its cosine similarity to the query."""
        frame = pd.DataFrame(self._json()["hits"]).set_index("row")
        return frame.rename(columns={"text": "sentence", "score": "cosine"})

    def _json(self) -> dict[str, Any]:
        hits = [
            {"row": row, "text": self._source.options.texts[row], "score": score}
            for row, score in zip(self.data.index.tolist(), self.data.score.tolist(), strict=True)
        ]
        return {"model": self._source.model.name, "query": self.query, "hits": hits}

    def _lines(self) -> Sequence[str]:
        rows = [(str(hit["row"]), f"{hit['score']:.4f}", printable_token(hit["text"])) for hit in self._json()["hits"]]
        first = f"{self._source.model.name}: sentences nearest to {printable_token(self.query)!r}"
        return [first, "", *aligned([("row", "cosine", "sentence"), *rows], "rrl")]


class DimensionsResult(Result[DimensionCurve]):
    """What the vectors of a list of sentences keep when they are cut to their first dimensions."""

    figures = ("dimensions",)

    def to_pandas(self) -> pd.DataFrame:
        """One row per number of dimensions: neighbours kept, Spearman, bytes per vector, whether trained for it."""
        return dimensions_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return dimensions_json(self.data)

    def _lines(self) -> Sequence[str]:
        return dimensions_lines(self.data)


class SentencesResult(Result[SentenceVectors]):
    """Embeddings of a list of sentences, and the cosine similarities of all pairs."""

    figures = ("sentences", "map", "blocks", "vectors", "poolings", "pooling-maps", "pair")

    @property
    def vectors(self) -> Float[np.ndarray, "sentences dimensions"]:
        """Vectors of the sentences, in the order of the list."""
        return self.data.vectors

    @cached_property
    def similarity(self) -> Float[np.ndarray, "sentences sentences"]:
        """Cosine similarity of every pair, -1 to 1."""
        return similarity_matrix(self.data.vectors)

    @checked
    def nearest(self, query: str, k: int = 5) -> NearestResult:
        """Find the sentences with the largest cosine similarity to a query.

        Args:
            query: the query.
            k: number of sentences to return, at least 1.

        Raises:
            BertvizError: the query is blank or invalid, or `k` is less than 1.
        """
        text = repair_surrogates(query).strip()
        if not text or k < 1:
            raise TextError("The query is blank, or k is below 1; give a text to look for, and k from 1.")
        current, model = self._source.options, self._source.model
        vector = encoded_sentences(model, current, (text,)).result.vectors[0]
        options = replace(current, texts=self.data.sentences, values={**current.values, "query_sentence": text})
        return NearestResult(nearest(vector, self.data.vectors, k), FigureSource(model, options), text)

    @checked
    def dimensions(self, dimensions: Sequence[int] | None = None) -> DimensionsResult:
        """Measure what vectors of fewer dimensions keep: nearest sentences, and the order of all cosines.

        Args:
            dimensions: numbers of dimensions, 1 to those of the vectors; defaults to powers of two from 8, those that
                the model names as trained (Matryoshka), and all.

        Raises:
            BertvizError: there are fewer than 3 sentences, or a number is out of range.
        """
        if dimensions is not None and (not dimensions or min(dimensions) < 1):
            raise TextError("dimensions needs at least one number, from 1; None stands for powers of two.")
        current, model = self._source.options, self._source.model
        written = {} if dimensions is None else {"dimensions": ",".join(map(str, dimensions))}
        options = replace(current, values={**current.values, **written})
        return DimensionsResult(fewer_dimensions(model, options).result, FigureSource(model, options))

    def to_pandas(self) -> pd.DataFrame:
        """The similarities, with one row and one column per sentence."""
        return pd.DataFrame(self.similarity, index=self.data.sentences, columns=self.data.sentences)

    def _json(self) -> dict[str, Any]:
        return similarity_json(self.data, self.similarity)

    def _lines(self) -> Sequence[str]:
        return similarity_lines(self.data, self.similarity)
