"""A target in a changed run equals transformers' own class with the same change made here by hand."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.errors import BertvizError, TextError, UnsupportedModelError
from bertviz_core.interventions.targets import Target, answer_target, class_target, tag_target, word_target
from bertviz_core.journey.changes import Change, changed_value, masked_tokens
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.sources import folder_source
from bertviz_core.questions.interventions.journey_change import changed_journey, changed_number
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import save_tiny
from tests.journey.test_changes import _bypassed
from tests.sentences.test_plan import MEAN, modules

TEXT, SECOND = "i love my pet python", "the bank of the river"
KINDS: dict[str, tuple[str, Callable[[Any, TextTokenizer], Target], Callable[[Any], float]]] = {
    "class": (
        "sequence-classification",
        lambda head, tokenizer: class_target(head, tokenize(tokenizer, TEXT), "LABEL_1"),
        lambda output: output.logits[0, 1],
    ),
    "tag": (
        "token-classification",
        lambda head, tokenizer: tag_target(head, tokenize(tokenizer, TEXT), "LABEL_1", 3),
        lambda output: output.logits[0, 3, 1],
    ),
    "word": (
        "masked-lm",
        lambda head, tokenizer: word_target(head, tokenizer, tokenize(tokenizer, TEXT), "pet", 4),
        lambda output: output.logits[0, 4].log_softmax(-1),
    ),
    "span": (
        "question-answering",
        lambda head, tokenizer: answer_target(head, tokenizer, TEXT, SECOND, (8, 9)),
        lambda output: output.start_logits[0, 8] + output.end_logits[0, 9],
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_at_the_end_is_that_of_the_changed_model(kind: str) -> None:
    task, target_of, number = KINDS[kind]
    head, tokenizer, own = tiny_head("bert", task)
    target = target_of(head, tokenizer)
    ids = torch.tensor(np.array(target.tokens.input_ids))[None]
    types = torch.tensor(np.array(target.tokens.token_type_ids))[None]
    masked = ids.clone()
    masked[0, 2] = tokenizer.tokenizer.mask_token_id
    word = tokenizer.tokenizer.convert_tokens_to_ids(["pet"])[0]

    def value(these: Any) -> float:
        with torch.inference_mode():
            found: Any = number(own(input_ids=these, token_type_ids=types))
        return float(found[word] if kind == "word" else found)

    assert changed_value(target, tokenizer, Change("mask", 2)) == pytest.approx(value(masked), abs=1e-4)
    with _bypassed(own.bert.encoder.layer[1]):
        bypassed = value(ids)
    assert changed_value(target, tokenizer, Change("layer", 1)) == pytest.approx(bypassed, abs=1e-4)
    dense = own.bert.encoder.layer[1].attention.output.dense
    saved, size = dense.weight.detach().clone(), dense.in_features // own.config.num_attention_heads
    with torch.no_grad():
        dense.weight[:, size : 2 * size] = 0
    without = value(ids)
    with torch.no_grad():
        dense.weight.copy_(saved)
    assert changed_value(target, tokenizer, Change("head", 1, 1)) == pytest.approx(without, abs=1e-4)
    assert len({round(each, 4) for each in (value(ids), value(masked), bypassed, without)}) == 4


@pytest.mark.slow
def test_the_cosine_of_two_texts_is_that_of_their_vectors() -> None:
    opened, text, pair = OpenedModel("all-MiniLM-L6-v2", Settings.from_environment()), "My pet.", "A river."
    found = changed_number(opened, Options((text,), pair, values={"change": "layer-2"})).result

    def vector(words: str) -> Any:
        encoded = opened.tokenizer.tokenizer(words, return_tensors="pt")
        with torch.inference_mode():
            return opened.loaded.model(**encoded).last_hidden_state[0].mean(dim=0)

    with _bypassed(opened.loaded.model.encoder.layer[2]):
        changed = vector(text)
    assert found == pytest.approx(float(torch.cosine_similarity(changed, vector(pair), dim=0)), abs=1e-5)


def test_no_token_is_masked_where_the_number_reads_other_tokens(tmp_path: Path) -> None:
    folder = modules(tmp_path / "prompted", MEAN)
    prompts = {"prompts": {"query": "the river "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    model = OpenedModel("prompted", replace(Settings.from_environment(), models_dir=tmp_path))
    with pytest.raises(TextError, match="computed from other tokens than those drawn"):
        changed_number(model, Options((TEXT,), SECOND, values={"change": "mask-2"}))
    assert -1 <= changed_number(model, Options((TEXT,), SECOND, values={"change": "layer-1"})).result <= 1


def test_a_family_without_heads_refuses(tmp_path: Path) -> None:
    save_tiny("fnet", tmp_path / "fnet")
    model = OpenedModel("fnet", replace(Settings.from_environment(), models_dir=tmp_path))
    with pytest.raises(BertvizError):
        changed_number(model, Options((TEXT,), SECOND, values={"change": "head-1.0"}))
    assert -1 <= changed_number(model, Options((TEXT,), SECOND, values={"change": "mask-2"})).result <= 1


@pytest.mark.sample(1)
@pytest.mark.parametrize(("family", "path"), [("fnet", "encoder.layer.1"), ("xlnet", "layer.1")])
def test_a_layer_is_switched_off_where_no_head_can_be(family: str, path: str, tmp_path: Path) -> None:
    save_tiny(family, tmp_path / family)
    model = OpenedModel(family, replace(Settings.from_environment(), models_dir=tmp_path))
    found = changed_number(model, Options((TEXT,), SECOND, values={"change": "layer-1"})).result
    after = changed_journey(model, Options((TEXT,), values={"change": "layer-1"})).result.after

    def states(words: str) -> Any:
        ids = torch.tensor(np.array(model.tokens(words, None).input_ids))[None]
        with torch.inference_mode():
            return model.loaded.model(input_ids=ids).last_hidden_state[0]

    with _bypassed(model.loaded.model.get_submodule(path)):
        changed = states(TEXT)
    cosine = torch.cosine_similarity(changed.mean(dim=0), states(SECOND).mean(dim=0), dim=0)
    assert found == pytest.approx(float(cosine), abs=1e-5)
    assert after.length is not None
    assert after.turn is not None
    assert after.length[-1] == pytest.approx(changed.norm(dim=-1).numpy(), abs=1e-4)
    assert after.turn[1] == pytest.approx(0, abs=1e-5)


@pytest.mark.slow
def test_an_isolated_tokenizer_masks_the_same_token() -> None:
    isolated = replace(Settings.from_environment(), child_bytes=768 * 1024**2, child_seconds=6, isolate_models=True)
    source = folder_source("tiny", bundled_folder())
    made = [
        masked_tokens(tokenizer, tokenize(tokenizer, TEXT), 3)
        for tokenizer in (
            load_tokenizer(source, isolated),
            load_tokenizer(source, replace(isolated, isolate_models=False)),
        )
    ]
    assert made[0].tokens == made[1].tokens
    assert made[0].tokens[3] == "[MASK]"


def test_an_unsupported_change_names_the_family(tmp_path: Path) -> None:
    save_tiny("xlnet", tmp_path / "xlnet")
    model = OpenedModel("xlnet", replace(Settings.from_environment(), models_dir=tmp_path))
    with pytest.raises(UnsupportedModelError, match="XLNet"):
        changed_number(model, Options((TEXT,), SECOND, values={"change": "head-1.0"}))
