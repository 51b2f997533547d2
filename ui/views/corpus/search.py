"""Search a corpus, and what is in it."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.corpora_folder import EXAMPLE, files_nbytes
from bertviz_core.corpus.folder import TEXT_COLUMN, plain_values
from bertviz_core.corpus.results import CorpusHit, CorpusHits, Manifest
from bertviz_core.corpus.search import check_weights
from bertviz_core.errors import BertvizError
from bertviz_core.figures.corpus import hits_figure
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.models.sources import ModelSource
from bertviz_core.questions.corpora import HITS, WHERE, corpus_hits
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines, opening_lines
from bertviz_core.text import bytes_text, counted, escape_controls, escape_markdown, shortened
from ui.address.registry import param
from ui.address.widgets import whole
from ui.cache.folders import SharedCorpus
from ui.components.links import LONGEST_LINKED, Link, address, step_links
from ui.views.corpus import controls
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists import answer

MANIFEST_KEY = "corpus_about"
PRINTED = "print(corpus.rows, corpus.vectors.shape)\nprint(corpus.data.manifest)\nprint(dict(corpus.data.columns))\n"
LONGEST_CELL = 200
"""Most characters of a text in a table."""
LINE = 35
"""Pixels of a table's row."""


def about_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Some rows, the state of the model, the manifest as a table, the columns."""
    corpus, manifest = named.corpus, named.corpus.manifest
    with row:
        first = whole(param("first_row", "corpus"), "First row", 0, corpus.rows - 1, 0, width=controls.NARROW)
    shown = range(first, min(first + 10, corpus.rows))
    numbers_table(row_table(named, shown), f"{counted(len(shown), 'row')} of the corpus, from row {first} on")
    st.markdown(_model_words(named))
    facts = _facts(named)
    numbers_table(facts, "The manifest of the corpus", LINE * (len(facts) + 1) + 2)
    st.markdown(f"**{counted(len(corpus.columns), 'column')}**")
    numbers_table(_columns(manifest, dict(corpus.columns)), "The columns")
    explained(
        MANIFEST_KEY,
        controls.ABOUT,
        f"{opening_lines(named)}{PRINTED}",
    )


def _model_words(named: SharedCorpus) -> str:
    """Whether the corpus' model is on this machine with the same weights, in Markdown."""
    manifest = named.corpus.manifest
    name = escape_markdown(manifest.model)
    try:
        origin = named.model.source
    except BertvizError as error:
        return f"The model **{name}** is not here, so nothing can be searched for: {escape_markdown(str(error))}"
    if not origin.has_weights:
        return f"The weights of **{name}** are not on this machine, so nothing can be searched for."
    if refusal := named.model.get_or_compute(
        (__name__, "refusal", named.corpus.fingerprint), lambda: _refusal(named, origin)
    ):
        return f"The model **{name}** is here, but not as it was: {escape_markdown(refusal)}"
    return f"The model **{name}** is here, with the weights that made the corpus (SHA-256 compared)."


def _refusal(named: SharedCorpus, origin: ModelSource) -> str:
    """Why the weights on this machine do not suit the corpus; "" where they do."""
    try:
        check_weights(named.corpus, origin.name, weights_sha256(weights_folder(origin, named.settings)))
    except BertvizError as error:
        return str(error)
    return ""


def row_table(named: SharedCorpus, rows: Sequence[int], whole: bool = False) -> pd.DataFrame:
    """Return some rows with their text and the user's columns.

    Args:
        named: the corpus.
        rows: indices of the rows.
        whole: whether cells are complete, for a file; on the page they are shortened.
    """
    corpus = named.corpus
    columns = [*([TEXT_COLUMN] if TEXT_COLUMN in corpus.columns else []), *user_columns(corpus.manifest)]
    cells: dict[str, Sequence[object]] = {"row": list(rows)}
    if not columns:
        return pd.DataFrame(cells)
    table = corpus.read(list(rows), columns)
    for name in columns:
        values = plain_values(table.column(name))
        shown = values if whole else [plain_cell(cell) for cell in values]
        cells[name if name != "row" else "row (of the corpus)"] = shown
    return pd.DataFrame(cells)


def user_columns(manifest: Manifest) -> list[str]:
    """Names of the columns of the input."""
    return [column.name for column in manifest.columns]


def plain_cell(cell: object) -> object:
    """Convert a cell for a table: numbers unchanged, anything else as a short text."""
    if cell is None or isinstance(cell, (bool, int, float)):
        return cell
    return escape_controls(shortened(str(cell), LONGEST_CELL))


def _facts(named: SharedCorpus) -> pd.DataFrame:
    manifest = named.corpus.manifest
    limit = "all" if manifest.max_tokens is None else f"{manifest.max_tokens:,} at most"
    storage = "kept" if manifest.text_column else "not kept (--no-text)"
    facts = {
        "rows": f"{manifest.rows:,} in {counted(manifest.shards, 'shard')}",
        "vectors": f"{manifest.dimensions:,} numbers each, {manifest.vector_dtype}",
        "on disk": bytes_text(files_nbytes(named.corpus.path)),
        "model": f"{manifest.model}, revision {manifest.revision}",
        "weights (SHA-256)": manifest.weights_sha256,
        "pooling": f"{manifest.pooling} of hidden state {manifest.layer}",
        "normalised": "to unit length" if manifest.normalized else "no",
        "prompt": manifest.prompt or "none",
        "tokens read of a text": limit,
        "run in": manifest.run_dtype,
        "texts": storage,
        "made from": ", ".join(each.path.rpartition("/")[2] for each in manifest.inputs[:3])
        + (f" and {len(manifest.inputs) - 3:,} more" if len(manifest.inputs) > 3 else ""),
        "made by": f"Inside BERT {manifest.code_version}",
    }
    words = [shortened(escape_controls(value), LONGEST_CELL) for value in facts.values()]
    return pd.DataFrame({"fact": list(facts), "value": words})


def _columns(manifest: Manifest, kinds: dict[str, str]) -> pd.DataFrame:
    own = {column.name: column.input_name for column in manifest.columns}
    origin = [
        "the corpus itself" if name not in own else "the input" + (f" ({own[name]})" if own[name] != name else "")
        for name in kinds
    ]
    return pd.DataFrame(
        {"column": [escape_controls(name) for name in kinds], "kind": list(kinds.values()), "from": origin}
    )


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
            explanation=(controls.SEARCH, library_lines(corpus_hits, named, options)),
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
