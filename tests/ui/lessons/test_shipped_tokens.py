"""The lesson on tokens: each number in its texts, from the tokenizer and the embedding table."""

import numpy as np

from bertviz_core.hidden_states.embeddings import word_table
from bertviz_core.models.catalog import SPLADE
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.classes import term_weights
from bertviz_core.predictions.masked_lm import predicted_words
from bertviz_core.predictions.run import load_head
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.ui.lessons.shipped import VOCABULARY, lesson, model, number_texts, numbers, run, tokens

STEPS = lesson("tokens").steps


def ids(text: str) -> dict[str, str]:
    """Token -> id, as written in a lesson."""
    cut = tokens(text)
    return {token: str(number) for token, number in zip(cut.tokens, cut.input_ids.tolist(), strict=True)}


def row(token: str, loaded: LoadedModel) -> np.ndarray:
    """The normalised row of a token of one piece."""
    table = word_table(loaded).detach().numpy()
    vector = table[int(ids(token)[token])]
    return np.asarray(vector / np.linalg.norm(vector))


def test_pieces() -> None:
    text = "I love my pet python."
    assert STEPS[0].text == text
    assert ids(text)["python"] == "18750"
    assert len(tokens(text)) == 8
    assert numbers(STEPS[0]) == number_texts(8, VOCABULARY, "18750", len(tokens(text[:-1])))
    assert {token: number for token, number in ids(text).items() if token != "."} == ids(text[:-1])


def test_a_word_that_the_vocabulary_lacks() -> None:
    cut = tokens("Tokenization is unbelievably useful")
    assert cut.tokens[1:-1] == ("token", "##ization", "is", "un", "##bel", "##ie", "##va", "##bly", "useful")
    assert numbers(STEPS[1]) == number_texts(9, 5, ids("unbelievable")["unbelievable"])


def test_the_longest_piece_from_the_left() -> None:
    assert tokens("unhappiness").tokens[1:-1] == ("un", "##ha", "##pp", "##iness")
    compound = tokens("Donaudampfschifffahrtsgesellschaft").tokens[1:-1]
    assert compound[:3] == ("dona", "##uda", "##mp")
    assert numbers(STEPS[2]) == number_texts(ids("unhappy")["unhappy"], ids("happiness")["happiness"], len(compound))


def test_what_is_thrown_away() -> None:
    assert tokens("Café résumé RESUME naïve").tokens[1:-1] == ("cafe", "resume", "resume", "naive")
    assert tokens("hello Hello HELLO").tokens[1:-1] == ("hello",) * 3
    assert numbers(STEPS[3]) == number_texts(ids("resume")["resume"], ids("hello")["hello"])


def test_unknown() -> None:
    assert tokens("snowman ☃ and 🙂").tokens[1:-1] == ("snow", "##man", "[UNK]", "and", "[UNK]")
    known = ids("東京 is big")
    assert numbers(STEPS[4]) == number_texts(ids("☃")["[UNK]"], known["東"], known["京"])


def test_neighbours() -> None:
    loaded = model()
    alike = [f"{float(row('love', loaded) @ row(other, loaded)):.3f}" for other in ("loves", "loved", "loving")]
    assert numbers(STEPS[5]) == number_texts(384, ids("love")["love"], *alike)
    table = word_table(loaded).detach().numpy()
    cosines = table @ row("python", loaded) / np.linalg.norm(table, axis=1)
    nearest = cosines.argsort()[::-1][1:11].tolist()
    assert {int(ids(word)[word]) for word in ("import", "pip", "snake", "snakes", "serpent")} <= set(nearest)


def test_a_pair() -> None:
    step = STEPS[6]
    assert step.text is not None
    cut = tokens(step.text, step.pair)
    assert cut.token_type_ids is not None
    types = cut.token_type_ids.tolist()
    assert numbers(step) == number_texts(len(cut), types.count(0), "0", types.count(1), "1")
    assert cut.tokens[8] == "[SEP]"


def test_the_input() -> None:
    assert run("I love my pet python.").hidden_states[0].shape == (8, 384)
    assert numbers(STEPS[7]) == number_texts("0", 8, 384)


def test_a_mask() -> None:
    step, settings = STEPS[8], Settings.from_environment()
    source = resolve(SPLADE, settings)
    head, tokenizer = load_head(source, settings), load_tokenizer(source, settings)
    assert step.text is not None
    words = predicted_words(head, tokenizer, tokenize(tokenizer, step.text))
    best, probability = words.top_ids[:, 0].tolist(), np.exp(words.top_log_probability[:, 0])
    assert tokenizer.spelled([best[2], best[6]]) == ("capital", "city")
    assert numbers(step) == number_texts(f"{probability[6]:.3f}", "2", f"{probability[2]:.3f}")
    (trial,) = step.trials
    terms = term_weights(head, tokenize(tokenizer, trial.text or ""))
    assert tokenizer.spelled(terms.ids[:4].tolist()) == ("capital", "france", "french", "city")
