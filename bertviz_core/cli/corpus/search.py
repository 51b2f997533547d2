"""The `corpus search` command."""

import sys
from typing import Annotated

import typer

from bertviz_core.cli.corpus.group import FolderArgument, corpus_app
from bertviz_core.cli.opened import opened_folder
from bertviz_core.cli.options import JsonOption, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.search import MAX_HITS, SearchIndex, index_facts, make_index, open_index
from bertviz_core.errors import CorpusError
from bertviz_core.questions.corpora import searched
from bertviz_core.questions.tables.corpora import hit_lines, hits_json
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls

WHERE_HELP = "Only rows with this value of a column, such as topic=sport, year=1999 or note=null."
INDEX_HELP = "Search by an index, kept on this machine; it is made where there is none, or none of these vectors."


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
    opened = opened_folder(folder)
    index = _index(opened.corpus, opened.settings) if indexed else None
    answer = searched(opened, text, int(count), where, index)
    print_notices(answer.notices)
    if as_json:
        print_json(hits_json(answer.result), answer.notices)
    else:
        print_lines(hit_lines(answer.result))


def _index(corpus: Corpus, settings: Settings) -> SearchIndex | None:
    """The index of a corpus, created if there is no valid one."""
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
        quality = f"recall@{facts.count} {facts.recall:.1%} on {facts.queries:,} held-out rows"
        print_notices((f"Index of {facts.rows:,} rows made in {facts.seconds_to_make:,.0f} s: {quality}.",))
    return open_index(corpus, settings)
