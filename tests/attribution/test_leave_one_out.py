"""Leave one out: every share is the difference of two single runs of transformers itself.

Covers `bertviz_core/attribution/words.py`.
"""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.attribution.results import WordAttributions
from bertviz_core.attribution.words import leave_one_out
from bertviz_core.errors import SupersededError, TextError, UnsupportedModelError
from bertviz_core.interventions.targets import class_target, cosine_target, word_target
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.trace.tokenization import TextTokenizer, tokenize
from tests.helpers.tiny_causes import opened, tiny_target
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import PAIR, TEXT

SEVERAL = ("albert", "bert", "deberta-v2", "distilbert", "esm", "fnet", "modernbert", "mpnet", "roberta", "t5")


def of_family(family: str, **how: Any) -> WordAttributions:
    return leave_one_out(tiny_target(family), opened(family)[1], **how)


@pytest.mark.parametrize("family", SEVERAL)
@pytest.mark.sample(4)
def test_each_share_is_the_difference_of_two_runs_made_alone(family: str) -> None:
    loaded, tokenizer = opened(family)
    result = of_family(family)
    with torch.no_grad():

        def vector(ids: list[int]) -> torch.Tensor:
            row_ids = torch.tensor([ids])
            model = loaded.model.get_encoder() if family == "t5" else loaded.model
            return model(input_ids=row_ids, attention_mask=torch.ones_like(row_ids)).last_hidden_state[0].mean(dim=0)

        pair = vector(tokenizer.tokenizer(PAIR)["input_ids"])
        ids = tokenizer.tokenizer(TEXT)["input_ids"]

        def cosine(row: list[int]) -> float:
            return float(torch.cosine_similarity(vector(row), pair, dim=0))

        assert result.clean == pytest.approx(cosine(ids), abs=1e-5)
        for positions, share in zip(result.positions, result.shares, strict=True):
            masked = [tokenizer.tokenizer.mask_token_id if at in positions else each for at, each in enumerate(ids)]
            assert float(share) == pytest.approx(cosine(ids) - cosine(masked), abs=1e-5)
    everything = [place for positions in result.positions for place in positions]
    masked = [tokenizer.tokenizer.mask_token_id if at in everything else each for at, each in enumerate(ids)]
    with torch.no_grad():
        assert result.reference == pytest.approx(cosine(masked), abs=1e-5)


@pytest.mark.parametrize("whole_words", [True, False])
def test_a_dropped_word_leaves_the_text_without_its_tokens(whole_words: bool) -> None:
    head, tokenizer, own = tiny_head("bert", "sequence-classification", num_labels=4)
    tokens = tokenize(tokenizer, "the pythons love", "my river bank")
    result = leave_one_out(class_target(head, tokens, "LABEL_3"), tokenizer, whole_words, "drop")

    def logit(kept: list[int]) -> float:
        with torch.no_grad():
            return float(
                own(
                    input_ids=torch.tensor(tokens.input_ids[None][:, kept]),
                    token_type_ids=torch.tensor(tokens.token_type_ids[None][:, kept]),
                ).logits[0, 3]
            )

    every = list(range(len(tokens)))
    for positions, share in zip(result.positions, result.shares, strict=True):
        without = [place for place in every if place not in positions]
        assert float(share) == pytest.approx(logit(every) - logit(without), abs=1e-5)
    assert any(len(positions) > 1 for positions in result.positions) == whole_words
    assert sorted(place for positions in result.positions for place in positions) == [
        place for place in every if not tokens.special[place]
    ]


def test_words_are_the_texts_and_tokens_the_vocabularys() -> None:
    assert of_family("bert").words == ("I", "love", "my", "pet", "python", ".")
    tokens = of_family("bert", whole_words=False)
    assert tokens.words == tuple(each for each in tokens.tokens.tokens if not each.startswith("["))
    calls = tokens.per_token()
    np.testing.assert_array_equal(np.isnan(calls), tokens.tokens.special)
    np.testing.assert_array_equal(calls[~np.isnan(calls)], tokens.shares)
    assert [tokens.shares[index] for index in tokens.ranked()] == sorted(tokens.shares, reverse=True)


def test_what_the_target_does_not_read_has_no_share() -> None:
    loaded, tokenizer = opened("bert")
    target = cosine_target(loaded, tokenizer, TEXT, PAIR, SentencePlan("mean", layer=0))
    swapped = replace(target, values=lambda inputs, lengths: inputs["input_ids"][:, 2].float())
    shares = leave_one_out(swapped, tokenizer).shares
    assert np.flatnonzero(shares).tolist() == [1]


def test_progress_is_told_and_ends_the_work() -> None:
    calls: list[tuple[int, int]] = []
    result = of_family("bert", progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (result.runs, result.runs)

    def superseded(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        of_family("bert", progress=superseded)


def test_what_cannot_be_done_is_told() -> None:
    head, tokenizer, _ = tiny_head("bert", "masked-lm")
    target = word_target(head, tokenizer, tokenize(tokenizer, TEXT), "bank", 2)
    assert len(leave_one_out(target, tokenizer).shares) == 6
    with pytest.raises(TextError, match=r"moves when tokens are dropped; replace words by the mask instead\."):
        leave_one_out(target, tokenizer, replacement="drop")
    with pytest.raises(TextError, match=r"moves when tokens are dropped; take a target of the whole text\."):
        leave_one_out(target, without_mask(tokenizer), replacement="drop")
    with pytest.raises(TextError, match="no word of its own"):
        leave_one_out(replace(target, tokens=tokenize(tokenizer, "[MASK]")), tokenizer)
    with pytest.raises(UnsupportedModelError, match="no mask token"):
        leave_one_out(target, without_mask(tokenizer))
    broken = replace(target, values=lambda inputs, lengths: torch.full((len(lengths),), torch.nan))
    with pytest.raises(TextError, match="no finite number"):
        leave_one_out(broken, tokenizer)


def without_mask(tokenizer: TextTokenizer) -> TextTokenizer:
    backend = copy.deepcopy(tokenizer.tokenizer)
    backend.mask_token = None
    return replace(tokenizer, tokenizer=backend)
