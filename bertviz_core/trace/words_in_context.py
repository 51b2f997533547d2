"""Tokenize a word at a position of a text, where its tokens may differ from those of the word alone."""

from dataclasses import replace

from bertviz_core.errors import TextError
from bertviz_core.text import counted, escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, tokenize


def piece_ids(tokenizer: TextTokenizer, tokens: Tokens, position: int, word: str) -> list[int]:
    """The ids of a word in place of a token of the text; those of the word alone if offsets are unknown."""
    span = tokens.offsets[position] if tokens.offsets is not None else None
    if not word.strip():
        raise TextError("No word to compare; write one.")
    if span is None:
        ids: list[int] = tokenizer.tokenizer(word, add_special_tokens=False)["input_ids"]
        if not ids:
            raise TextError(f"{quoted(escape_controls(word), 40)} has no token in this vocabulary; try another word.")
        return ids
    second = tokens.sequence[position] == 1
    old = (tokens.pair or "") if second else tokens.text
    space = old[span[0] : span[1]][: len(old[span[0] : span[1]]) - len(old[span[0] : span[1]].lstrip())]
    new = f"{old[: span[0]]}{space}{word.strip()}{old[span[1] :]}"
    changed = replace(tokens, pair=new) if second else replace(tokens, text=new)
    ids = tokenize(tokenizer, changed.text, changed.pair).input_ids.tolist()
    before, after = tokens.input_ids[:position].tolist(), tokens.input_ids[position + 1 :].tolist()
    end = len(ids) - len(after)
    if end <= position or ids[:position] != before or ids[end:] != after:
        raise TextError(
            f"{quoted(escape_controls(word), 40)} has no tokens of its own at position {position}: it merges with its "
            "neighbours, or makes the text too long. Choose a position where a word begins."
        )
    return ids[position:end]


def word_id_at(tokenizer: TextTokenizer, tokens: Tokens, word: str, position: int) -> int:
    """The vocabulary id of a word at a position of the text, or else by its spelling."""
    refusal = None
    try:
        ids = piece_ids(tokenizer, tokens, position, word)
    except TextError as error:
        ids, refusal = [], error
    if len(ids) == 1 and ids[0] != tokenizer.tokenizer.unk_token_id:
        return ids[0]
    spelled = tokenizer.spelled(range(len(tokenizer.tokenizer)))
    if word in spelled:
        return spelled.index(word)
    raise refusal or TextError(
        f"{quoted(escape_controls(word), 40)} has {counted(len(ids), 'piece')} in this vocabulary; a target is a "
        "single piece that the vocabulary knows."
    )
