"""The lesson on causes: each number in its texts; heads are removed by zeros in the model's own weights."""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from bertviz_core.attribution.gradients import integrated_gradients
from bertviz_core.attribution.pair_attributions import pair_attributions
from bertviz_core.interventions.ablation import ablation_effects, greedy_order
from bertviz_core.interventions.hooks import mean_activations
from bertviz_core.interventions.results import AblationEffects
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.target_parsing import open_target
from bertviz_core.interventions.targets import Target
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.ui.lessons.shipped import cosine, lesson, model, number_texts, numbers, tokens, vector, weights

STEPS = lesson("which-heads-and-words-matter").steps
BANK, RIVER = "The bank raised its interest rates.", "We sat on the bank of the river."
SINAN, WEATHER = "Sinan loves a beautiful day", "Sinan enjoys the lovely weather"
SETTINGS = Settings.from_environment()
SOURCE = resolve(DEFAULT_MODEL, SETTINGS)
MASK = 103
"""The id of [MASK]."""


def changed(*heads: tuple[int, int], text: str = BANK, pair: str = RIVER, ids: list[int] | None = None) -> float:
    """The cosine to the pair, with the output projection's columns of these heads set to zero."""
    own: nn.Module = deepcopy(model().model) if heads else model().model
    for layer, head in heads:
        own.get_parameter(f"encoder.layer.{layer}.attention.output.dense.weight").data[
            :, head * 32 : head * 32 + 32
        ] = 0
    row_ids = torch.tensor([tokens(text).input_ids.tolist() if ids is None else ids])
    with torch.no_grad():
        mean = own(input_ids=row_ids, attention_mask=torch.ones_like(row_ids)).last_hidden_state[0].mean(0).numpy()
    return float(mean / np.linalg.norm(mean) @ vector(pair))


def without(word: str) -> float:
    """The cosine of the text with a word masked."""
    names, ids = tokens(BANK).tokens, tokens(BANK).input_ids.tolist()
    return changed(ids=[MASK if name == word else each for name, each in zip(names, ids, strict=True)])


@cache
def target() -> Target:
    return open_target(SOURCE, SETTINGS, BANK, RIVER, base=model())


@cache
def at_the_mean() -> AblationEffects:
    return ablation_effects(target(), "mean", mean_activations(model(), load_tokenizer(SOURCE, SETTINGS)))


@pytest.mark.slow
def test_a_head_is_taken_away() -> None:
    clean = cosine(BANK, RIVER)
    effects = {(layer, head): changed((layer, head)) - clean for layer in range(6) for head in range(12)}
    assert max(effects, key=lambda place: abs(effects[place])) == (5, 7)
    small = sum(abs(effect) < 0.01 for effect in effects.values())
    note = (f"{clean:.3f}", len(effects), small, "0.01", 7, 5, f"{changed((5, 7)):.3f}")
    day = cosine(SINAN, WEATHER)
    ours, largest = (abs(changed((5, head), text=SINAN, pair=WEATHER) - day) for head in (7, 11))
    assert numbers(STEPS[0]) == number_texts(*note, f"{ours:.3f}", 11, f"{largest:.3f}")


def test_a_clear_map() -> None:
    own = weights(0, 2, BANK)
    assert min(own[place, place - 1] for place in range(1, len(own))) >= 0.99
    assert numbers(STEPS[1]) == number_texts(2, "0", "0.99", f"{abs(changed((0, 2)) - cosine(BANK, RIVER)):.4f}")


def test_a_blurred_map() -> None:
    own, names = weights(5, 7, BANK)[0], tokens(BANK).tokens
    rows = [f"{own[names.index(name)]:.2f}" for name in ("[CLS]", "bank", "interest")]
    clear, blurred = (abs(changed(place) - cosine(BANK, RIVER)) for place in ((0, 2), (5, 7)))
    assert blurred > 150 * clear
    assert numbers(STEPS[2]) == number_texts(7, 5, *rows, 150)


@pytest.mark.slow
def test_zero_and_mean_disagree() -> None:
    zero = {head: changed((5, head)) - cosine(BANK, RIVER) for head in (0, 6)}
    mean = at_the_mean().heads[5]
    assert zero[6] < 0 < mean[6]
    assert mean[0] < 0
    note = (55, 6, 5, f"{-zero[6]:.4f}", f"{mean[6]:.4f}")
    assert "55 texts" in at_the_mean().reference
    assert numbers(STEPS[3]) == number_texts(*note, "0", f"{abs(zero[0]):.4f}", f"{-mean[0]:.4f}")


@pytest.mark.slow
def test_heads_together() -> None:
    order, clean = greedy_order(InterventionRuns(target()), 6), cosine(BANK, RIVER)
    joint, total = changed(*order) - clean, sum(changed(place) - clean for place in order)
    assert numbers(STEPS[4]) == number_texts(6, f"{-joint:.3f}", f"{-total:.3f}", 20)


def test_a_word_is_taken_away() -> None:
    clean = cosine(BANK, RIVER)
    shares = {word: clean - without(word) for word in tokens(BANK).tokens[1:-1]}
    assert min(shares, key=shares.__getitem__) == "raised"
    said_there = (f"{shares['bank']:.3f}", f"{clean:.3f}", f"{sum(shares.values()):.3f}", f"{shares['raised']:.3f}")
    assert numbers(STEPS[5]) == number_texts(*said_there)


def test_shares_that_add_up() -> None:
    clean, ids = cosine(BANK, RIVER), tokens(BANK).input_ids.tolist()
    masks = changed(ids=[ids[0], *[MASK] * (len(ids) - 2), ids[-1]])
    result = integrated_gradients(target(), load_tokenizer(SOURCE, SETTINGS))
    shares = dict(zip(result.words, result.shares.tolist(), strict=True))
    assert sum(shares.values()) == pytest.approx(clean - masks, abs=1e-3)
    lost = [f"{clean - without(word):.3f}" for word in ("rates", "bank")]
    note = (f"{-masks:.3f}", f"{shares['rates']:.3f}", f"{shares['bank']:.3f}", *lost)
    assert masks < 0
    assert numbers(STEPS[6]) == number_texts(*note)


@pytest.mark.slow
def test_pairs_of_words() -> None:
    ledger = pair_attributions(model(), load_tokenizer(SOURCE, SETTINGS), BANK, RIVER, recommended(SOURCE, SETTINGS), 3)
    first, second = ledger.first.tokens.index("bank"), ledger.second.tokens
    own = [f"{ledger.shares[first, second.index(word)]:.3f}" for word in ("bank", "sat", "river")]
    clean, total = cosine(BANK, RIVER), float(ledger.shares.sum())
    denied = cosine("It's an exchange or return", "It's not an exchange or return")
    rest = f"{total - clean:.3f}"
    assert numbers(STEPS[7]) == number_texts(2, *own, f"{total:.3f}", f"{clean:.3f}", rest, f"{denied:.3f}")
