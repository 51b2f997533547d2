"""Search a corpus: the nearest rows, and links from a hit to other pages."""

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.corpora_folder import EXAMPLE
from bertviz_core.corpus.folder import TEXT_COLUMN
from bertviz_core.corpus.results import CorpusHit, CorpusHits
from bertviz_core.figures.corpus.hits import hits_figure
from bertviz_core.questions.corpora import HITS, WHERE, corpus_hits
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted, escape_markdown
from ui.cache.folders import SharedCorpus
from ui.components.step_links import LONGEST_LINKED, Link, address, step_links
from ui.views.corpus import controls, texts
from ui.views.corpus.manifest import plain_cell
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer

KEY = "corpus_search"
PAGES = (("Tokens", "tokens"), ("Attention", "attention"), ("Predictions", "predictions"))
CAUSES = (("Words that matter", "words"), ("Heads that matter", "causes"))


def search_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """The rows nearest to a text."""
    with row:
        text = controls.query_input(
            named.name == EXAMPLE, named.get_or_compute((__name__, "first"), lambda: _first_text(named))
        )
        where = controls.where_input(named.corpus.columns)
        count = controls.hits_input(named.corpus.rows)
    if not text:
        st.info("Type a text to search for: the rows nearest to it are listed.", icon=":material/search:")
        return
    _ = named.model.source  # without the model nothing can be searched, even if there are cached hits
    options = Options((text,), values={HITS.key: str(count), WHERE.key: where})
    hits = answer(corpus_hits, named, options).result
    if hits.hits:
        words = figure_block(
            hits_figure(hits),
            f"corpus search {named.name} {hits.model}",
            _table(hits),
            numbers="open",
            height="auto" if len(hits.hits) <= 10 else 390,
            texts=(text,),
            models=(hits.model,),
            explanation=(texts.SEARCH, library_lines(corpus_hits, named, options)),
        )
        words.markdown(_summary(hits))
        for notice in unshown(hits.notices):
            words.caption(escape_markdown(notice))
        _opened(hits)
        return
    for notice in unshown(hits.notices):
        st.info(escape_markdown(notice), icon=":material/info:")


def _first_text(named: SharedCorpus) -> str:
    """The text of the first row; "" where the corpus has no texts."""
    if TEXT_COLUMN not in named.corpus.columns:
        return ""
    return str(named.corpus.read([0], [TEXT_COLUMN]).column(TEXT_COLUMN).to_pylist()[0] or "")


def _summary(result: CorpusHits) -> str:
    scope = (
        f"{result.searched:,} of {result.rows:,} rows, those with {escape_markdown(result.where)},"
        if result.where
        else (f"{counted(result.rows, 'row')}")
    )
    way = "each compared with the query" if result.method == "exact" else "found by an index of neighbours"
    return f"Among {scope} in {1000 * result.seconds:,.0f} ms, {way}."


def _table(result: CorpusHits) -> pd.DataFrame:
    frame = pd.DataFrame({"row": [hit.row for hit in result.hits], "cosine": [hit.score for hit in result.hits]})
    if any(hit.text is not None for hit in result.hits):
        frame["text"] = pd.Series([plain_cell(hit.text) for hit in result.hits])
    for name in result.hits[0].columns:
        head = name if name not in frame else f"{name} (of the corpus)"
        frame[head] = pd.Series([plain_cell(hit.columns[name]) for hit in result.hits])
    return frame


def _opened(result: CorpusHits) -> None:
    """Show a hit with its whole text, and links that open it on other pages."""
    if result.hits[0].text is None:
        return
    place = controls.hit_select(len(result.hits))
    hit = result.hits[place]
    st.markdown(escape_markdown(hit.text or ""))
    step_links(_links(hit, result), f"{KEY}_open", "Open this text on another page")
    if len(hit.text or "") + len(result.query) > LONGEST_LINKED:
        st.caption(f"Text and query have more than {LONGEST_LINKED:,} characters, too many for a link: copy it there.")


def _links(hit: CorpusHit, result: CorpusHits) -> list[Link]:
    text = hit.text or ""
    if len(text) + len(result.query) > LONGEST_LINKED:
        return []
    model = ("model", result.model)
    both = f"{result.query}\n{' '.join(text.split())}"
    # A second text of the page would be read with the hit, so it is cleared.
    links = [Link(f"Open in {title}", address(page, [model, ("text", text), ("pair", "")])) for title, page in PAGES]
    beside = [model, ("view", "Token contributions"), ("source", "typed"), ("sentences", both)]
    alike = [model, ("text", text), ("pair", result.query), ("target", "cosine")]
    return [
        *links,
        Link("Compare with the query in Sentences", address("sentences", beside)),
        *(Link(f"Its cosine with the query in {title}", address(page, alike)) for title, page in CAUSES),
    ]
