"""Methods of a model that read a list of texts, or a query with a text: vectors, a ranking and late interaction."""

from collections.abc import Sequence
from os import PathLike, fspath

from bertviz_core.api.arguments import checked
from bertviz_core.api.comparisons import ModelComparisons
from bertviz_core.api.results.ranking import LateInteractionResult, RankingResult
from bertviz_core.api.results.sentences import SentencesResult
from bertviz_core.errors import TextError
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.late_interaction import interaction_options, late_interaction
from bertviz_core.questions.predictions.ranking import ranked, ranking_options
from bertviz_core.questions.texts.sentences import sentence_vectors


class ModelOfLists(ModelComparisons):
    """Methods of a model for lists of texts, comparisons, and figures."""

    @checked
    def sentences(
        self, sentences: Sequence[str], *, pooling: str | None = None, layer: int | None = None
    ) -> SentencesResult:
        """Embed sentences [sentences, dimensions], with the cosine similarity of every pair.

        Args:
            sentences: texts, at least one.
            pooling: "mean", "cls", "max", "pooler" or "lasttoken"; defaults to that of the checkpoint.
            layer: index of the hidden states to pool, 0 for the embedding output; defaults to the last.

        Raises:
            BertvizError: the weights are not on this machine, there is no such pooling or layer, or the list is empty.
        """
        if not sentences:
            raise TextError("sentences is an empty list; give at least one text.")
        values = {} if pooling is None else {"pooling": pooling}
        values |= {} if layer is None else {"layer": str(layer)}
        return self._ask(sentence_vectors, SentencesResult, Options(tuple(sentences), None, self.task, values))

    @checked
    def rank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        ranked_by: str | None = None,
        label: str | None = None,
        beside: str | PathLike[str] | None = None,
    ) -> RankingResult:
        """Order texts for a query by a cross-encoder, an NLI head or late interaction, beside cosines of sentences.

        Args:
            query: the query, which the head reads as the first text of each pair.
            texts: the texts, at least one.
            ranked_by: "head" or "late interaction"; defaults to the head, and to late interaction for a model without
                a head that was trained for it (ColBERT).
            label: the class whose probability orders the texts; defaults to "entailment". A head with one output, a
                cross-encoder, needs none: its score is the activation of its settings, the sigmoid by default.
            beside: sentence model of the cosines; defaults to the bundled one, and "own" is the model's own encoder.

        Raises:
            BertvizError: the model has no such head or class, the query is blank, or there are no texts.
        """
        named = "" if beside is None else fspath(beside)
        options = ranking_options(query, texts, label or "", named, self.task, ranked_by or "")
        return self._ask(ranked, RankingResult, options)

    @checked
    def late_interaction(self, query: str, document: str) -> LateInteractionResult:
        """Compare every token of a query with every token of a document, as ColBERT does.

        The score is the sum, over the tokens of the query, of the largest cosine with a token of the document. Markers,
        masks that fill the query up, projection and skip list are those of the checkpoint; a model that was not
        trained for it is compared by its last hidden states, and a notice says so.

        Args:
            query: the query.
            document: the text that it is compared with.

        Raises:
            BertvizError: a text is blank or has no token, or a file of the checkpoint is missing or damaged.
        """
        return self._ask(late_interaction, LateInteractionResult, interaction_options(query, document))
