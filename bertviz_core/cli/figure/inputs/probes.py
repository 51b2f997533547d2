"""Labelled texts: probes fitted on them, and answers beside their labels."""

from functools import cached_property

from bertviz_core.cli.figure.inputs.sentences import SentenceInputs
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.predictions.labelled.fitting import fitted_probe, layer_vectors, probe_scores
from bertviz_core.predictions.labelled.reading import example_set, typed_labels
from bertviz_core.predictions.labelled.results import GoldScores, LabelledTexts, ProbeScores
from bertviz_core.predictions.labelled.scores import gold_scores
from bertviz_core.predictions.labelled.table import probe_table, text_predictions
from bertviz_core.predictions.loading import load_head, stored_task
from bertviz_core.sentences.reading.files import read_sentences
from bertviz_core.sentences.results import POOLINGS, Pooling, SentenceTable
from bertviz_core.text import escape_controls

MOST_SEEDS = 10_000


class ProbeInputs(SentenceInputs):
    """Texts with labels, and what is fitted on them or compared with them."""

    @cached_property
    def _probe_pooling(self) -> Pooling:
        chosen = next((each for each in POOLINGS if each == (self.asked.pooling or "mean")), None)
        if chosen is None:
            given = escape_controls(self.asked.pooling[:20])
            raise TextError(f"There is no pooling {given!r}; choose {', '.join(POOLINGS)}.")
        return chosen

    @cached_property
    def _labelled(self) -> LabelledTexts:
        """The texts of a probe: those given, else the example set."""
        return typed_labels(self._lines) if self.asked.texts else example_set()

    @cached_property
    def _lines(self) -> SentenceTable:
        """What was given, a text on a line."""
        return read_sentences("The list", "\n".join(self.asked.texts), self.settings)

    @cached_property
    def probe_scores(self) -> ProbeScores:
        """How well a probe does on each layer."""
        labelled, pooling = self._labelled, self._probe_pooling
        vectors = layer_vectors(self.loaded, self.tokenizer, labelled.texts, pooling)
        seed = self.asked.place("seed", MOST_SEEDS, 0)
        scores = probe_scores(self.loaded, labelled, pooling, vectors, seed)
        self.notices = scores.notices
        return scores

    @cached_property
    def probed_layer(self) -> int:
        """The entry of hidden_states that is chosen, the last by default."""
        last = self.loaded.num_hidden_layers
        return self.asked.number("layer", self.asked.layer, last + 1, last, " (the embedding output)")

    @cached_property
    def gold_scores(self) -> GoldScores:
        """Answers of the checkpoint's own head, or of a probe fitted on the example set, beside the labels."""
        if not self.asked.texts:
            raise TextError("This figure compares answers with labels; give each text as 'LABEL<tab>TEXT', in quotes.")
        parted = [line.partition("\t") for line in self._lines.sentences]
        texts, gold = [text or label for label, _, text in parted], [label if text else "" for label, _, text in parted]
        try:
            task = self.asked.task or stored_task(self.source)
        except UnsupportedModelError:
            task = None
        if task is None:
            pooling, labelled = self._probe_pooling, example_set()
            vectors = layer_vectors(self.loaded, self.tokenizer, labelled.texts, pooling)
            scores = probe_scores(self.loaded, labelled, pooling, vectors)
            probe = fitted_probe(labelled, scores, vectors, scores.layers[-1])
            predictions = probe_table(probe, self.loaded, self.tokenizer, texts)
        else:
            head = load_head(self.source, self.settings, task, self.loaded)
            pairs = [self.asked.pair] * len(texts) if self.asked.pair is not None else None
            predictions = text_predictions(head, self.tokenizer, texts, pairs)
        compared = gold_scores(predictions, gold)
        self.texts, self.notices = tuple(texts), (*predictions.notices, *compared.notices)
        return compared
