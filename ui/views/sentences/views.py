"""Views of the page Sentences in order."""

from collections.abc import Callable, Mapping

from ui.views.sentences.map import map_view
from ui.views.sentences.poolings import pooling_view
from ui.views.sentences.queries.late_interaction import late_interaction_view
from ui.views.sentences.queries.rank import rank_view
from ui.views.sentences.similarity import SentenceInputs, query_view, similarity_view
from ui.views.sentences.token_pairs import pair_view
from ui.views.sentences.two_models.lists import two_models_view
from ui.views.sentences.vectors import vectors_part


def similarity_and_vectors(inputs: SentenceInputs) -> None:
    """The similarities, and below them the vectors that they are of."""
    vectors_part(inputs, similarity_view(inputs))


VIEWS: Mapping[str, Callable[[SentenceInputs], None]] = {
    "Similarity": similarity_and_vectors,
    "Two models": two_models_view,
    "Poolings": pooling_view,
    "Token contributions": pair_view,
    "Query": query_view,
    "Rank": rank_view,
    "Late interaction": late_interaction_view,
    "Map": map_view,
}
"""Name -> view of a list of sentences."""
