"""Methods of a model: texts scored for a query or with an exchanged word, gold tags, questions answered."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath

from bertviz_core.api.comparisons import ModelComparisons
from bertviz_core.api.own_model import OneOrTwo, Texts, answered_texts, checked
from bertviz_core.api.results.answer_list import AnswerListResult
from bertviz_core.api.results.answers import LateInteractionResult, RankingResult, ThreeHeadsResult
from bertviz_core.api.results.tags import TagScoresResult
from bertviz_core.api.results.two_models import WordSwapsResult
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS
from bertviz_core.predictions.probing.swaps import line_of
from bertviz_core.questions.predictions.answer_list import NULL_THRESHOLD, answer_options, gold_cell, scored_answers
from bertviz_core.questions.predictions.gold_tags import MODE, SPACE, gold_tags, tag_options, tagged_list
from bertviz_core.questions.predictions.predict import LONGEST
from bertviz_core.questions.predictions.ranking import (
    heads_options,
    interaction_options,
    late_interaction,
    ranked,
    ranking_options,
    three_heads,
)
from bertviz_core.questions.predictions.swaps import COMPARED, OUTPUT, SWAP_SET, swap_options, word_swaps


class ModelRankings(ModelComparisons):
    """Texts scored for a query: by a head, token by token, by the heads of BGE-M3; and answers to lists of texts."""

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
    def word_swaps(
        self,
        pairs: Sequence[OneOrTwo] | None = None,
        templates: Sequence[OneOrTwo] | None = None,
        *,
        shipped: str = "negation",
        compared_by: str | None = None,
        output: str | None = None,
    ) -> WordSwapsResult:
        """Put the words of each pair into templates, and compare what the model answers to both texts.

        Args:
            pairs: two words each, such as ("he", "she") or "he / she"; by default those of the shipped set.
            templates: texts with {} in place of the word, or two texts each for a model of pairs, one of which has the
                {}; by default those of the shipped set.
            shipped: the set of this project: "negation" or "pronouns".
            compared_by: "classes", "surprise" or "cosine"; by default the first that the model has.
            output: the class, or the kind of surprise, that is compared alone; defaults to all.

        Raises:
            BertvizError: a pair has not two words, a template not one {}, the word is cut off, or the model has no such
                head or class.
        """
        words = None if pairs is None else list(map(line_of, pairs))
        lines = None if templates is None else list(map(line_of, templates))
        values = {SWAP_SET.key: shipped, COMPARED.key: compared_by or "", OUTPUT.key: output or ""}
        return self._ask(word_swaps, WordSwapsResult, swap_options(words, lines, self.task, **values))

    @checked
    def tags(
        self,
        words: Sequence[Sequence[str]],
        labels: Sequence[Sequence[str | int]],
        *,
        tag_mode: str = MODE.options[0],
        add_prefix_space: bool = False,
    ) -> TagScoresResult:
        """Score the entities that a tagger finds in words with gold tags: precision, recall, F1, and every error.

        The tag of a word is the likeliest label of its first piece; words are tokenized with `is_split_into_words`.

        Args:
            words: the words of each sentence; of more than 10,000 sentences a sample is tagged.
            labels: a tag for each of these words, by its name or its number in the head.
            tag_mode: "default" for entities as conlleval and seqeval read them, "strict" for well-formed ones only.
            add_prefix_space: whether each word has the space in front that it has in a text, whatever the folder of
                the tokenizer says.

        Raises:
            BertvizError: the model has no head for tags, a sentence has not a tag for each word, no tag is of the
                head, or all are the same.
        """
        values = {MODE.key: tag_mode, SPACE.key: str(add_prefix_space).lower()}
        options = replace(tag_options(tagged_list(words, labels), **values), task=self.task)
        return self._ask(gold_tags, TagScoresResult, options)

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
