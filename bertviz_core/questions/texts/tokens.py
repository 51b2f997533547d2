"""Questions about tokens: tokenization, comparison of tokenizers, nearest embeddings."""

from unicodedata import combining, normalize

from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.figures.tokens import BELOW
from bertviz_core.hidden_states.embeddings import nearest_rows
from bertviz_core.hidden_states.results import NearestRows
from bertviz_core.models.safetensors.folder import DTYPE_NBYTES
from bertviz_core.models.skeleton import model_config, text_config
from bertviz_core.parameters.components import EMBEDDINGS, TASK_HEAD
from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.opened import Opened, answered, names_of
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question, question
from bertviz_core.resources import retained_nbytes
from bertviz_core.text import quoted
from bertviz_core.trace.pieces import REFERENCE_TOKENIZERS, reference_tokenizer, text_pieces
from bertviz_core.trace.results import TextPieces, Tokens, VocabularyTable, VocabularyUse
from bertviz_core.trace.tokenization import longest_piece, tokenize
from bertviz_core.trace.vocabulary import row_kinds, vocabulary_use

NEAREST = 10
"""Number of rows of the embedding table to list."""
BELOW_TOKENS = choice("below", BELOW, "what is shown below each token", "Below each token")
TOKEN = Param(
    "token",
    "position",
    "the token that is looked at, the longest by default",
    label="Token, by its position",
    bounds=lambda opened, options: _positions(opened, options),
)
TOKENIZER = Param(
    "tokenizer",
    "text",
    "the second tokenizer: one that is made here, or that of another model",
    label="Second tokenizer",
    values=lambda opened, _: tuple(REFERENCE_TOKENIZERS),
    control="model",
)

EDITED = Param(
    "edited",
    "text",
    "the edited text; the text itself where only the second is edited",
    label="The edited text",
    values=lambda _, options: options.texts,
    control="edited",
)
EDITED_PAIR = Param(
    "edited_pair",
    "text",
    "the edited second text; the second text itself where it is not edited",
    label="The edited second text",
    values=lambda _, options: () if options.pair is None else (options.pair,),
    control="edited",
)


@question()
def tokens(opened: Opened, options: Options) -> Answer[Tokens]:
    """Tokens of a text or pair."""
    read = opened.tokens(options.text(), options.pair)
    return Answer(read, names_of(opened), (read.text, read.pair), read.notices)


@question(figures=("tokens",), params=(BELOW_TOKENS, TOKEN))
def cut_text(opened: Opened, options: Options) -> Answer[TextPieces]:
    """The text, split into its tokens."""
    read = tokens(opened, options)
    pieces, position = text_pieces(read.result), _position(read.result, options)
    drawn = {"below": options.choice(BELOW_TOKENS), "position": position, "model_name": opened.source.name}
    return read.of(pieces, text_pieces=pieces, tokens=read.result, **drawn)


@question(figures=("tokenizers",), params=(TOKENIZER,))
def second_tokenizer(opened: Opened, options: Options) -> Answer[TextPieces]:
    """The text, split by a second tokenizer."""
    read, name = tokens(opened, options), options.get(TOKENIZER.key) or next(iter(REFERENCE_TOKENIZERS))
    second = tokens_by(opened, options, name)
    pieces = text_pieces(second)
    drawn = {"text_pieces": text_pieces(read.result), "model_name": opened.source.name, "second_name": name}
    return read.of(pieces, second_pieces=pieces, tokens=read.result, second_tokens=second, **drawn)


@question(figures=("nearest",), params=(TOKEN,))
def nearest_embeddings(opened: Opened, options: Options) -> Answer[NearestRows]:
    """Rows of the embedding table nearest to that of a token."""
    read = tokens(opened, options)
    position = _position(read.result, options)
    rows = _rows_near(opened, int(read.result.input_ids[position]))
    spelled = opened.tokenizer.spelled(rows.ids.tolist())
    drawn = {"spelled": spelled, "token": read.result.tokens[position], "model_name": opened.source.name}
    return read.of(rows, nearest_rows=rows, **drawn)


def rewritten(pieces: TextPieces) -> str:
    """How the tokenizer writes a text before it cuts it, with the first example; "" where tokens are as in the text."""
    pairs = [(each.text, each.spelling.removeprefix(each.mark)) for run in pieces.runs for each in run.pieces]
    changed = [(text, token) for text, token in pairs if text != token and _bare(text).lower() == _bare(token).lower()]
    if not changed:
        return ""
    small = any(_bare(text) != _bare(token) for text, token in changed)
    accents = any(len(normalize("NFD", text)) != len(normalize("NFD", token)) for text, token in changed)
    does = ["makes capitals small"] * small + ["drops accents"] * accents or ["writes characters in another form"]
    text, token = map(quoted, changed[0])
    return f"Before it cuts, this tokenizer {' and '.join(does)}: {text} becomes the token {token}."


def _bare(text: str) -> str:
    return "".join(each for each in normalize("NFD", text) if not combining(each))


def tokens_by(opened: Opened, options: Options, name: str) -> Tokens:
    """Tokenize with a reference tokenizer, or that of another model."""
    if name not in REFERENCE_TOKENIZERS:
        return opened.other(name).tokens(options.text(), options.pair)
    made = opened.get_or_compute(
        (__name__, "reference_tokenizer", name), lambda: reference_tokenizer(name, opened.settings)
    )
    return tokenize(made, options.text(), options.pair)


def _rows_near(opened: Opened, token_id: int) -> NearestRows:
    """Rows of the embedding table nearest to a row."""

    def found() -> NearestRows:
        try:
            return nearest_rows(opened.loaded, token_id, NEAREST)
        except ValueError as error:
            raise UnsupportedModelError(
                f"The vocabulary table of {opened.name!r} has no row {token_id}: its tokenizer and its weights do not "
                "belong together."
            ) from error

    return opened.get_or_compute((__name__, "rows_near", token_id), found)


def _positions(opened: Opened, options: Options) -> tuple[int, int, int]:
    read = tokens(opened, options).result
    return 0, len(read) - 1, longest_piece(read)


def _position(read: Tokens, options: Options) -> int:
    return options.whole(TOKEN.key, len(read), longest_piece(read))


def edited_texts(options: Options) -> tuple[str, str | None]:
    """The text and second text after edits; by default unchanged."""
    if not {EDITED.key, EDITED_PAIR.key} & set(options.values):
        what = "This figure compares a text with its edited version; give "
        raise TextError(what, Named(EDITED.key), "=TEXT.")
    pair = options.values.get(EDITED_PAIR.key, options.pair)
    return options.get(EDITED.key) if EDITED.key in options.values else options.text(), pair


def edited_tokens(opened: Opened, options: Options) -> Answer[Tokens]:
    """Tokens of the edited text or pair."""
    edited, pair = edited_texts(options)
    return tokens(opened, Options((edited,), pair))


QUICKLY_COUNTED = 10_000
"""Most texts that are counted while the reader waits."""


def _vocabulary_cost(opened: Opened, options: Options) -> AnswerCost:
    return AnswerCost(len(options.texts), nbytes=retained_nbytes(options.texts), short=QUICKLY_COUNTED)


@long_question(_vocabulary_cost, figures=("vocabulary", "vocabulary-coverage"), noun="texts")
def vocabulary(opened: Opened, options: Options, job: Job[VocabularyUse]) -> Answer[VocabularyUse]:
    """What a list of texts uses of the vocabulary, by script and by frequency, and the pieces of its words."""
    tokenizer, tables = opened.tokenizer, vocabulary_tables(opened)
    rows = tables[0].shape[0] if tables else len(tokenizer.tokenizer)
    kinds = opened.get_or_compute((__name__, "row_kinds", rows), lambda: row_kinds(tokenizer, rows))
    use = vocabulary_use(tokenizer, options.texts, kinds, tables, job)
    no_table = f"{quoted(opened.name)} has no table with one row per token, so rows are tokens, and no bytes are named."
    return answered(opened, use, (*use.notices, *([] if tables else [no_table])), vocabulary_use=use)


def vocabulary_tables(opened: Opened) -> list[VocabularyTable]:
    """The input table, and the output table where it has numbers of its own; [] where no table has a row per token."""
    ledger = parameters(opened, Options()).result
    rows = getattr(text_config(model_config(opened.source.name, opened.source.config)), "vocab_size", None)
    tables = [each for each in ledger.parameters if each.shape[:1] == (rows,) and each.layer is None]
    axes = max((len(each.shape) for each in ledger.parameters if each.component == EMBEDDINGS), default=0)
    words = next((each for each in tables if each.component == EMBEDDINGS and len(each.shape) == axes), None)
    if words is None:
        return []
    heads = [each for each in tables if each.component == TASK_HEAD and len(each.shape) == len(words.shape)]
    apart = [each for each in heads if each.tied_to is None and each.name != words.tied_to]
    return [
        VocabularyTable(
            name=each.name,
            role="input" if each is words else "output",
            shape=each.shape,
            dtype=each.dtype,
            nbytes=int(each.numel * DTYPE_NBYTES.get(each.dtype, 4)),
            share=each.numel / ledger.total,
        )
        for each in (words, *apart)
    ]
