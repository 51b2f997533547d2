"""The command that looks for a text in a corpus folder."""

import sys
from typing import Annotated, Any

import typer

from bertviz_core.cli.corpus.group import FolderArgument, corpus_app
from bertviz_core.cli.options import JsonOption, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.search.index import SearchIndex, index_facts, make_index, open_index
from bertviz_core.corpus.search.query import MAX_HITS, query_vector, search
from bertviz_core.corpus.search.results import CorpusHits
from bertviz_core.errors import CorpusError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, repair_surrogates
from bertviz_core.trace.tokenization import load_tokenizer

WHERE_HELP = "Only rows with this value of a column, such as topic=sport, year=1999 or note=null."
INDEX_HELP = "Search by an index, kept on this machine; it is made where there is none, or none of these vectors."
OWN = ("row", "score")
"""Facts of a hit, beside which its columns stand; `text` is no name that a column of an input can have."""
LONGEST = 60
"""Characters of a text in the table."""


@corpus_app.command("search")
def search_command(
    folder: FolderArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is looked for.", callback=typed_text)],
    count: Annotated[str, typer.Option("-k", "--count", metavar="K", help=f"Rows, at most {MAX_HITS:,}.")] = "10",
    where: Annotated[str, typer.Option("--where", metavar="C=V", help=WHERE_HELP)] = "",
    indexed: Annotated[bool, typer.Option("--index", help=INDEX_HELP)] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for the rows whose vectors are nearest to that of a text."""
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        raise CorpusError(f"-k is {escape_controls(count[:20])!r}; give a whole number from 1 to {MAX_HITS:,}.")
    settings = Settings.from_environment(any_folder=True)
    corpus, words = open_corpus(folder), repair_surrogates(text)
    source = resolve(corpus.manifest.model, settings)
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    vector = query_vector(corpus, loaded, tokenizer, source, settings, words)
    hits = search(corpus, words, vector, int(count), where, _index(corpus, settings) if indexed else None)
    print_notices(hits.notices)
    if as_json:
        print_json(hits_json(hits))
    else:
        print_lines(hit_lines(hits))


def hits_json(hits: CorpusHits) -> dict[str, Any]:
    """The hits as the JSON object of the command; the columns of a row stand beside its score."""
    return {
        "query": hits.query,
        "corpus": hits.corpus,
        "model": hits.model,
        "method": hits.method,
        "recall": hits.recall,
        "where": hits.where,
        "searched": hits.searched,
        "rows": hits.rows,
        "seconds": hits.seconds,
        "hits": [
            {**plain_columns(hit.columns), "row": hit.row, "score": hit.score, "text": hit.text} for hit in hits.hits
        ],
        "notices": hits.notices,
    }


def hit_lines(hits: CorpusHits) -> list[str]:
    """The hits as a table, the nearest first."""
    rows = [
        (f"{hit.row:,}", f"{hit.score:.4f}", escape_controls((hit.text or "")[:LONGEST]), _columns(hit.columns))
        for hit in hits.hits
    ]
    head = f"{hits.corpus}: {hits.searched:,} of {hits.rows:,} rows searched in {1000 * hits.seconds:,.0f} ms"
    return [head, "", *table([("row", "cosine", "text", "columns"), *rows], "rrll")]


def plain_columns(columns: Any) -> dict[str, Any]:
    """Values as JSON has them: what is neither number, text, truth nor nothing as its text.

    A column called as one of a hit's own facts gets `_input` behind its name.
    """
    return {
        f"{name}_input" if name in OWN else name: value
        if value is None or isinstance(value, bool | int | float | str)
        else str(value)
        for name, value in columns.items()
    }


def _columns(columns: Any) -> str:
    return ", ".join(f"{printable_token(name)}={printable_token(str(value))}" for name, value in columns.items())


def _index(corpus: Corpus, settings: Settings) -> SearchIndex | None:
    """The index of a corpus, made where there is none that fits it."""
    try:
        opened = open_index(corpus, settings)
    except CorpusError as error:
        print_notices((f"{error} It is made again now.",))
        opened = None
    if opened is not None:
        return opened
    with typer.progressbar(length=corpus.rows, label="Index", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        make_index(corpus, settings, lambda done, _: bar.update(done - bar.pos))
    facts = index_facts(corpus, settings)
    if facts is not None:
        told = f"recall@{facts.count} {facts.recall:.1%} on {facts.queries:,} held-back rows"
        print_notices((f"Index of {facts.rows:,} rows made in {facts.seconds_to_make:,.0f} s: {told}.",))
    return open_index(corpus, settings)
