"""Views of the page Corpus in order."""

from collections.abc import Callable, Mapping

from streamlit.delta_generator import DeltaGenerator

from ui.cache.folders import SharedCorpus
from ui.views.corpus.groups import clusters_view, duplicates_view, probes_view, profiles_view
from ui.views.corpus.map import map_view
from ui.views.corpus.search import about_view, search_view

VIEWS: Mapping[str, Callable[[SharedCorpus, DeltaGenerator], None]] = {
    "Search": search_view,
    "Map": map_view,
    "Near duplicates": duplicates_view,
    "Clusters": clusters_view,
    "Heads": profiles_view,
    "Probes": probes_view,
    "About": about_view,
}
"""Name -> view of a corpus and the row of controls."""
