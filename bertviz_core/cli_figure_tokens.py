"""Figures of the command line that show single tokens: the nearest rows to one, and one word in two texts."""

from bertviz_core.cli_figure_asked import Asked, Made, loaded, settings
from bertviz_core.errors import TextError
from bertviz_core.visible import visible

NEAREST = 10


def nearest(asked: Asked) -> Made:
    """The rows of the embedding table that are nearest to a token's."""
    from bertviz_core.longest_piece import longest_piece
    from bertviz_core.sources import resolve
    from bertviz_core.tokenization import tokenize
    from bertviz_core.tokenizer_loading import load_tokenizer
    from bertviz_core.weight_checks import nearest_rows
    from figures.token_pictures import nearest_picture

    current = settings()
    tokenizer = load_tokenizer(resolve(asked.model, current), current)
    read, model = tokenize(tokenizer, asked.text(), asked.pair), loaded(asked)
    position = asked.place("token", len(read), longest_piece(read))
    found = nearest_rows(model, int(read.input_ids[position]), NEAREST)
    picture = nearest_picture(found, tokenizer.spelled(found.ids.tolist()), read.tokens[position], model.name)
    words = f"{picture.title}. Cosines of static rows."
    return Made(picture, words, ((model.name, model.revision),), (read.text, read.pair), read.notices)


def word(asked: Asked) -> Made:
    """One word in two texts, layer by layer.

    Raises:
        TextError: there are not two texts, or the word is not in both.
    """
    from bertviz_core.hidden_states import compare_word, occurrences
    from bertviz_core.sources import resolve
    from bertviz_core.tokenization import tokenize
    from bertviz_core.tokenizer_loading import load_tokenizer
    from bertviz_core.trace import trace
    from figures.token_pictures import word_picture

    if len(asked.texts) != 2 or not asked.more.get("word", "").strip():
        raise TextError("This figure follows a word in two texts: give --set word=WORD, and both texts in quotes.")
    current, model, looked_for = settings(), loaded(asked), asked.more["word"].strip()
    tokenizer = load_tokenizer(resolve(asked.model, current), current)
    first, second = (trace(model, tokenize(tokenizer, text)) for text in asked.texts)
    places = [occurrences(each.tokens, looked_for) for each in (first, second)]
    for text, found in zip(asked.texts, places, strict=True):
        if not found:
            what = f"The word {visible(looked_for[:30])!r} does not stand in {visible(text[:60])!r}"
            raise TextError(f"{what}; give a word that is in both texts.")
    picture = word_picture(compare_word(looked_for, first, places[0][0], second, places[1][0]), looked_for, model.name)
    return Made(picture, picture.title, ((model.name, model.revision),), asked.texts)
