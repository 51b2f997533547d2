"""The view Vocabulary in use of the page Sentences: which rows of the word table a list touches."""

from collections.abc import Iterator

from bertviz_core.figures.sentences.vocabulary import (
    DRAWN_KINDS,
    drawn_kinds,
    pieces_words,
    table_words,
    use_words,
    vocabulary_coverage_figure,
    vocabulary_figure,
)
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.vocabulary import split_frame, unknown_frame
from bertviz_core.questions.texts.tokens import vocabulary
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Table, Text, View
from bertviz_core.text import escape_controls, escape_markdown, shortened

TITLE = "Vocabulary in use"
HOW = (
    "Every text is tokenized whole, also where the model would cut it off, and each token is a row of the word table. "
    "The script of a row is that of its letters by the Unicode Standard, not a language: Latin holds English and "
    "Vietnamese alike. Pieces with letters of several scripts, with digits or signs alone, and bytes (pieces that are "
    "no whole characters) are kinds of their own, as are special tokens, the unknown one apart, rows that were left "
    "free, and padding rows behind the vocabulary. Without the rows that no text touches, no vector of these texts "
    "would change; other texts may need them. A word is what the tokenizer marks as one before it cuts it into pieces, "
    "and white space ends it. Some tokenizers split off punctuation and single Han characters, others do not, so "
    "pieces per word (fertility) compare the scripts of one model better than two models. An unknown piece is lost to "
    "the model; bytes are read, but several of them make one character."
)
NOT_DRAWN = "The table has the other kinds one by one."
SHARES = {**dict.fromkeys(("share used", "unknown", "bytes"), "percent"), "pieces per word": "%.2f"}
LONGEST = 120
"""Most characters of a text in a table, pixels of a table that is scrolled, most rows of one that is not."""


def vocabulary_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Rows of the vocabulary that the list touches, by script and by frequency; pieces of its words."""
    plain = Options(options.texts)
    answer = ask(vocabulary, plain)
    use = answer.result
    yield Text(f"**{escape_markdown(use_words(use))}**")
    all_drawn = len(drawn_kinds(use)) <= DRAWN_KINDS
    below = [*table_words(use), pieces_words(use), *([] if all_drawn else [NOT_DRAWN])]
    yield Figure.of(
        vocabulary_figure,
        answer,
        f"vocabulary by script {opened.name}",
        numbers="open",
        formats=SHARES,
        below=[*(Text(escape_markdown(line)) for line in below if line), Notices(answer.notices, "caption")],
        **explained(HOW, vocabulary, opened, plain),
    )
    formats = {"rank": "%d", "id": "%d", "covered": "percent"}
    yield Figure.of(vocabulary_coverage_figure, answer, f"tokens covered by rows {opened.name}", formats=formats)
    listed = {"Words of most pieces": split_frame(use), "Texts of most unknown pieces": unknown_frame(use)}
    for title, frame in listed.items():
        if len(frame):
            for name in frame.select_dtypes(exclude="number"):
                frame[name] = [shortened(escape_controls(each), LONGEST) for each in frame[name]]
            yield Text(f"**{title}**")
            yield Table(frame, title)


VIEW = View(TITLE, (), vocabulary_view)
