"""A corpus folder, and what is found in it: hits, map, near duplicates, clusters, heads and probes over its texts."""

from functools import cached_property
from pathlib import Path

import numpy as np

from bertviz_core.attention.measures import PROFILE_MEASURES
from bertviz_core.attention.results import HeadMeasure
from bertviz_core.cli.figure.inputs.models import ModelInputs
from bertviz_core.corpus.analysis.clusters import FEW_CLUSTERS, FEWEST_ROWS, MAX_CLUSTERS, corpus_clusters
from bertviz_core.corpus.analysis.density import map_density, whole_window
from bertviz_core.corpus.analysis.duplicates import duplicate_groups
from bertviz_core.corpus.analysis.probes import TEXTS, corpus_probe_scores
from bertviz_core.corpus.analysis.profiles import MAX_SENTENCES, SENTENCES, head_profiles
from bertviz_core.corpus.analysis.projection import corpus_map
from bertviz_core.corpus.analysis.results import (
    CLUSTER_METHODS,
    CorpusClusters,
    CorpusMap,
    DuplicateGroups,
    HeadProfile,
    HeadProfiles,
    MapDensity,
)
from bertviz_core.corpus.analysis.rows import texts_of
from bertviz_core.corpus.analysis.values import column_values
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.search.query import MAX_HITS, query_vector, search
from bertviz_core.corpus.search.results import CorpusHits
from bertviz_core.errors import TextError
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.labelled.reading import MAX_TEXTS
from bertviz_core.predictions.labelled.results import ProbeScores
from bertviz_core.sentences.results import POOLINGS, MapMethod
from bertviz_core.text import escape_controls, quoted, repair_surrogates
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer

METHODS: tuple[MapMethod, ...] = ("pca", "umap")
THRESHOLD = 0.95


class CorpusInputs(ModelInputs):
    """What a corpus holds; the folder stands where other figures have their model."""

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus in the folder."""
        opened = open_corpus(Path(self.asked.model))
        self.models = ((opened.manifest.model, opened.manifest.revision),)
        return opened

    @cached_property
    def corpus_name(self) -> str:
        """Name of its folder."""
        return self.corpus.path.name

    @cached_property
    def _origin(self) -> ModelSource:
        """The model that made the vectors."""
        return self._of(self.corpus.manifest.model)

    @cached_property
    def _encoder(self) -> tuple[LoadedModel, TextTokenizer]:
        return load_model(self._origin, self.settings), load_tokenizer(self._origin, self.settings)

    @cached_property
    def corpus_hits(self) -> CorpusHits:
        """The rows nearest to the text."""
        text = repair_surrogates(self.asked.text())
        vector = query_vector(self.corpus, *self._encoder, self._origin, self.settings, text)
        count = self.asked.place("hits", MAX_HITS + 1, 10)
        given = search(self.corpus, text, vector, count, self.asked.more.get("where", ""))
        self.texts, self.notices = (text,), given.notices
        return given

    @cached_property
    def corpus_map(self) -> CorpusMap:
        """Every row as a point."""
        return corpus_map(self.corpus.vectors(), self.asked.setting("placed", METHODS))

    @cached_property
    def map_column(self) -> str:
        """The column that the map is coloured by; "" for its density."""
        return self.asked.more.get("coloured", "")

    @cached_property
    def map_density(self) -> MapDensity:
        """Points of the whole map by cell."""
        values = column_values(self.corpus.column(self.map_column)) if self.map_column else None
        points = self.corpus_map.points
        return map_density(points, whole_window(points), values)

    @cached_property
    def duplicate_groups(self) -> DuplicateGroups:
        """Rows that are alike."""
        return duplicate_groups(self.corpus.vectors(), self._decimal("alike", THRESHOLD))

    @cached_property
    def corpus_clusters(self) -> CorpusClusters:
        """Rows in clusters."""
        rows, method = self.corpus.rows, self.asked.setting("clustering", CLUSTER_METHODS)
        count = self.asked.place("clusters", MAX_CLUSTERS + 1, min(FEW_CLUSTERS, rows))
        least = self.asked.place("least", rows + 1, min(FEWEST_ROWS, rows))
        return corpus_clusters(self.corpus.vectors(), method, count, least)

    @cached_property
    def typical_texts(self) -> tuple[str, ...]:
        """The most typical text of each cluster; "" where the corpus keeps none."""
        rows = self.corpus_clusters.typical[:, 0]
        return tuple(texts_of(self.corpus, rows)) if self.corpus.manifest.text_column else ("",) * len(rows)

    @cached_property
    def head_profiles(self) -> HeadProfiles:
        """What every head does over a sample."""
        sentences = self.asked.place("sample", MAX_SENTENCES + 1, SENTENCES)
        profiles = head_profiles(self.corpus, *self._encoder, sentences, self.asked.more.get("part_column", ""))
        self.notices = profiles.notices
        return profiles

    @cached_property
    def profile_part(self) -> HeadProfile:
        """All of the sample, or those with one value of the column."""
        name, profiles = self.asked.more.get("part", ""), self.head_profiles
        parts = {"all": profiles.overall, "": profiles.overall, **{part.name: part for part in profiles.parts}}
        if name not in parts:
            known = ", ".join(quoted(part.name, 40) for part in profiles.parts) or "none; give --set part_column=COLUMN"
            raise TextError(f"There is no part={escape_controls(name[:30])}; those there are: {known}.")
        return parts[name]

    @cached_property
    def profile_measure(self) -> HeadMeasure:
        """What is told of every head."""
        return self.asked.setting("measure", PROFILE_MEASURES)

    @cached_property
    def corpus_probe_scores(self) -> ProbeScores:
        """How well a column can be read off every layer."""
        column = self.asked.more.get("probe_labels", "")
        if not column:
            raise TextError(
                "This figure reads labels from a column and none was named; give --set probe_labels=COLUMN."
            )
        pooling = self.asked.setting("corpus_pooling", POOLINGS)
        texts = self.asked.place("probe_sample", MAX_TEXTS + 1, TEXTS)
        scores = corpus_probe_scores(self.corpus, *self._encoder, column, pooling, texts)
        self.notices = scores.notices
        return scores

    @cached_property
    def best_layer(self) -> int:
        """The entry of hidden_states with the greatest accuracy."""
        return self.corpus_probe_scores.layers[self.corpus_probe_scores.best]

    def _decimal(self, name: str, default: float) -> float:
        given = self.asked.more.get(name, str(default))
        try:
            number = float(given)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise TextError(f"{name}={escape_controls(given[:20])} is no number; give one such as {default}.")
        return number
