"""Choose a corpus: one in the folder of corpora, or the example, which is computed on request."""

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.corpora_folder import EXAMPLE, corpus_names, example_folder, example_is_there, make_example
from bertviz_core.errors import Progress
from bertviz_core.predictions.probing.reading import example_set
from ui.cache.folders import SharedCorpus
from ui.cache.jobs import board
from ui.session import settings
from ui.views.corpus import controls, texts
from ui.widgets.lists import progress
from ui.widgets.lists.progress import awaited


def chosen_corpus(row: DeltaGenerator) -> SharedCorpus:
    """Return the corpus in the address or the selected one; the page ends here if it does not exist yet.

    Args:
        row: container of the widget.

    Raises:
        CorpusError: the corpus does not exist, or is damaged.
    """
    own = corpus_names(settings())
    names = own if EXAMPLE in own else (*own, EXAMPLE)
    with row:
        name = controls.corpus_select(names)
    if name in own:
        return SharedCorpus(name)
    return SharedCorpus(name, _example(not own))


def _example(alone: bool) -> Path:
    """The folder of the example corpus, computed on request."""
    current = settings()
    if alone:
        st.caption(texts.NONE_YET)
    if example_is_there(current):
        return example_folder(current)

    def work(report: Progress) -> Path:
        return make_example(current, report)

    what = ("example", str(example_folder(current)))
    job = board().find(what)
    if job is None:
        job = board().start(what, len(example_set().texts), work)
    folder: Path = awaited(board, what, job, "sentences", progress.PATIENCE_S, kind="corpus example")
    return folder
