"""Sentences as vectors: similarity, blocks, a query, a map, token pairs, poolings."""

from functools import cached_property

import numpy as np
from jaxtyping import Float

from bertviz_core.cli.figure.inputs.runs import RunInputs
from bertviz_core.errors import TextError
from bertviz_core.figures.sentences.similarity import BLOCKS, NEIGHBOURS
from bertviz_core.figures.sentences.token_pairs import Unit
from bertviz_core.sentences.batches import prompt_tokens, sentence_tokens
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import adapted, recommended
from bertviz_core.sentences.pooling_comparison import pooling_comparison
from bertviz_core.sentences.projection import sentence_map, umap_available
from bertviz_core.sentences.results import (
    MEASURES,
    POOLINGS,
    BlockSummary,
    ClusterOrder,
    MapMethod,
    Measure,
    Neighbours,
    PoolingComparison,
    SentenceMap,
    SentencePlan,
    SentenceVectors,
    TokenPairShares,
)
from bertviz_core.sentences.similarity import block_summary, cluster_order, nearest, similarity_matrix
from bertviz_core.sentences.token_pairs import token_pair_shares
from bertviz_core.text import escape_controls, repair_surrogates
from bertviz_core.trace.run import trace

METHODS: tuple[MapMethod, ...] = ("pca", "umap")
UNITS: tuple[Unit, ...] = ("tokens", "words")
ORDERS = ("as typed", "clustered")


class SentenceInputs(RunInputs):
    """Sentences, their vectors and what compares them."""

    @cached_property
    def _sentences(self) -> tuple[str, ...]:
        if not self.asked.texts:
            raise TextError("This figure compares sentences, and none was given; give some, each in quotes.")
        return tuple(repair_surrogates(each) for each in self.asked.texts)

    @cached_property
    def plan(self) -> SentencePlan:
        """How sentences become vectors: the checkpoint's own way, but for what was asked."""
        chosen = next((each for each in POOLINGS if each == self.asked.pooling), None)
        if self.asked.pooling and chosen is None:
            given = escape_controls(self.asked.pooling[:20])
            raise TextError(f"There is no pooling {given!r}; choose {', '.join(POOLINGS)}.")
        plan, last = recommended(self.source, self.settings), self.loaded.num_hidden_layers
        layer = self.asked.number("layer", self.asked.layer, last + 1, last, " (the embedding output)")
        return adapted(plan, chosen or plan.pooling, None if layer == last else layer)

    def encoded(self, sentences: tuple[str, ...]) -> SentenceVectors:
        """The vectors of any sentences, as the plan says."""
        return sentence_vectors(self.loaded, self.tokenizer, sentences, self.plan)

    @cached_property
    def vectors(self) -> SentenceVectors:
        """The vectors of the sentences."""
        sentence_vectors = self.encoded(self._sentences)
        self.texts, self.notices = sentence_vectors.sentences, (self.plan.reason, *sentence_vectors.notices)
        return sentence_vectors

    @cached_property
    def similarity_measure(self) -> Measure:
        """What alike means."""
        return self.asked.setting("measure", MEASURES)

    @cached_property
    def similarity(self) -> Float[np.ndarray, "sentences sentences"]:
        """Every sentence against every other."""
        return similarity_matrix(self.vectors.vectors, self.similarity_measure)

    @cached_property
    def clusters(self) -> ClusterOrder | None:
        """The order in which alike sentences stand together; None where they stand as typed."""
        clustered = self.asked.setting("order", ORDERS) == "clustered" and len(self.similarity) > 1
        return cluster_order(similarity_matrix(self.vectors.vectors)) if clustered else None

    @cached_property
    def block_summary(self) -> BlockSummary:
        """Many sentences, similar ones put into blocks."""
        return block_summary(self.vectors.vectors, BLOCKS)

    @cached_property
    def query(self) -> str:
        """The sentence whose nearest are looked for."""
        wanted = repair_surrogates(self.asked.more.get("query_sentence", "")).strip()
        if not wanted:
            raise TextError(
                "This figure shows what is nearest to a query and none was given; give --set query_sentence=TEXT."
            )
        return wanted

    @cached_property
    def neighbours(self) -> Neighbours:
        """The sentences that are nearest to the query."""
        wanted, closest = self.query, self.vectors
        count = min(NEIGHBOURS, len(closest.sentences))
        return nearest(self.encoded((wanted,)).vectors[0], closest.vectors, count, self.similarity_measure)

    @cached_property
    def sentence_map(self) -> SentenceMap:
        """Every sentence as a point of a plane."""
        if len(self.asked.texts) < 3:
            raise TextError("A map needs at least three sentences; give more of them.")
        method = self.asked.setting("placed", METHODS if umap_available() else METHODS[:1])
        return sentence_map(self.vectors.vectors, method)

    @cached_property
    def first_row(self) -> int:
        """Place of the first vector drawn; given as a number from 1."""
        return max(self.asked.place("first_row", len(self.vectors.sentences) + 1, 1) - 1, 0)

    @cached_property
    def pair_shares(self) -> TokenPairShares:
        """The cosine of two sentences as a sum over pairs of their tokens."""
        given = self._sentences
        if len(given) != 2:
            raise TextError(f"This figure compares two sentences, and {len(given)} came; give two in quotes.")
        plan, tokenizer = self.plan, self.tokenizer
        first, second = (trace(self.loaded, sentence_tokens(tokenizer, each, plan)) for each in given)
        shares = token_pair_shares(first, second, plan, prompt_tokens(tokenizer, plan))
        self.texts, self.notices = given, (plan.reason, shares.note)
        return shares

    @cached_property
    def unit(self) -> Unit:
        """Whether a cell is a pair of tokens or of words."""
        return self.asked.setting("cells", UNITS)

    @cached_property
    def pooling_comparison(self) -> PoolingComparison:
        """Sentences under every pooling and layer."""
        given = self._sentences
        if len(given) < 2:
            raise TextError("Poolings are compared by the cosines of pairs; give a second sentence.")
        longest = recommended(self.source, self.settings).max_seq_length
        compared = pooling_comparison(self.loaded, self.tokenizer, given, max_seq_length=longest)
        self.texts, self.notices = compared.sentences, (compared.note,)
        return compared
