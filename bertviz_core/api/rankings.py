"""The methods of a model that score texts for a query, and that answer questions."""

from collections.abc import Sequence
from os import PathLike, fspath

from bertviz_core.api.comparisons import ModelComparisons
from bertviz_core.api.own_model import Texts, answered_texts, checked
from bertviz_core.api.results.answer_list import AnswerListResult
from bertviz_core.api.results.answers import LateInteractionResult, RankingResult, ThreeHeadsResult
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS
from bertviz_core.questions.predictions.answer_list import NULL_THRESHOLD, answer_options, gold_cell, scored_answers
from bertviz_core.questions.predictions.predict import LONGEST
from bertviz_core.questions.predictions.ranking import (
    heads_options,
    interaction_options,
    late_interaction,
    ranked,
    ranking_options,
    three_heads,
)


class ModelRankings(ModelComparisons):
    """Texts scored for a query, by a head, token by token, or by the heads of BGE-M3; questions answered."""

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

    @checked
    def three_heads(
        self, query: str, texts: Sequence[str], weights: Sequence[float] = (1.0, 1.0, 1.0)
    ) -> ThreeHeadsResult:
        """Score texts for a query by the three heads of BGE-M3, as FlagEmbedding does, and by their weighted mean.

        Dense: the cosine of the two vectors of the first token. Sparse: the products of the weights of the tokens that
        both have, added up. Multi-vector: the mean, over the tokens of the query, of the largest cosine with a token
        of the text. The heads of the tokens are `sparse_linear.safetensors` and `colbert_linear.safetensors` in the
        folder of the model.

        Args:
            query: the query.
            texts: the texts, at least one.
            weights: weights of the dense, sparse and multi-vector score in their mean, none below 0.

        Raises:
            BertvizError: the model has not both heads, the query is blank, there are no texts, or a weight is wrong.
        """
        options = heads_options(query, texts, ",".join(map(str, weights)))
        return self._ask(three_heads, ThreeHeadsResult, options)

    @checked
    def answers(
        self,
        questions: Sequence[str],
        contexts: str | Texts,
        gold: Sequence[str | Sequence[str]] | None = None,
        *,
        null_threshold: float = 0.0,
        longest: int = MAX_ANSWER_TOKENS,
    ) -> AnswerListResult:
        """Answer questions about texts, with the null score of each, and score the answers as SQuAD 2 does.

        Args:
            questions: the questions, at least one; of more than 10,000 a sample is answered.
            contexts: the text that each question is about; one for all, or one for each.
            gold: the right answer to each question, or several; "" or [] for a question without an answer.
            null_threshold: a question whose null score exceeds that of its best span by more has no answer.
            longest: most tokens of an answer, up to 100.

        Raises:
            BertvizError: the model has no head for answers, or the lists differ in length.
        """
        cells = None if gold is None else [gold_cell(each) for each in gold]
        rows = answered_texts(questions, cells, contexts)
        values = {NULL_THRESHOLD.key: str(null_threshold), LONGEST.key: str(longest)}
        return self._ask(scored_answers, AnswerListResult, answer_options(rows[0], rows[2] or [], rows[1], **values))
