"""A model object, and a list of texts, give the same results as a folder and single texts.

Covers `bertviz_core/api/own_model.py`.
"""

import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import sentence_transformers
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    CLIPProcessor,
    PreTrainedTokenizerFast,
    pipeline,
)

from bertviz_core import BertvizError, open_model
from tests.helpers.tiny_models import save_tiny

FOLDER, TEXTS = "models/my-classifier", ["a cat sat", "it rained all night long"]


@pytest.fixture
def own(in_workplace: Path) -> tuple[Any, Any]:
    """A classifier and its tokenizer as objects of transformers."""
    model = AutoModelForSequenceClassification.from_pretrained(FOLDER)
    return model.train(), AutoTokenizer.from_pretrained(FOLDER)


def test_an_object_is_answered_as_its_folder_and_is_not_changed(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    before = {name: value.clone() for name, value in model.state_dict().items()}
    opened, folder = open_model(model, tokenizer=tokenizer), open_model(FOLDER)
    assert opened.name == type(model).__name__
    assert opened.predict(TEXTS[0]).probabilities == folder.predict(TEXTS[0]).probabilities
    np.testing.assert_array_equal(opened.trace(TEXTS[0]).hidden_states, folder.trace(TEXTS[0]).hidden_states)
    assert opened.parameters().total == sum(each.numel() for each in model.parameters())
    assert model.training
    assert model.config._attn_implementation != opened._opened.loaded.model.config._attn_implementation
    assert all((before[name] == value).all() for name, value in model.state_dict().items())


def test_model_and_tokenizer_are_opened_however_they_are_passed(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    expected = open_model(FOLDER).predict(TEXTS[0]).probabilities
    processor = object.__new__(CLIPProcessor)
    processor.tokenizer = tokenizer
    ways = {
        "as a pipeline takes them": open_model(model, tokenizer),
        "the other way round": open_model(tokenizer, model),
        "by the names of a pipeline": open_model(model=model, tokenizer=tokenizer),
        "a processor": open_model(model, processor),
        "a pipeline": open_model(pipeline("text-classification", model=model, tokenizer=tokenizer)),
        "compiled": open_model(torch.compile(model), tokenizer),
        "on several devices": open_model(torch.nn.DataParallel(model), tokenizer=tokenizer),
        "a cross-encoder": open_model(sentence_transformers.CrossEncoder(FOLDER, device="cpu")),
        "a path": open_model(model=Path(FOLDER)),
    }
    for way, opened in ways.items():
        assert opened.predict(TEXTS[0]).probabilities == expected, way
    for wrong in ({"name": model, "model": model}, {}):
        with pytest.raises(BertvizError, match="Give one model"):
            open_model(**wrong)
    with pytest.raises(BertvizError, match="one tokenizer"):
        open_model(model, tokenizer, tokenizer=tokenizer)


class UnsavedRule(PreTrainedTokenizerFast):
    """A tokenizer that changes the ids in a way that its files do not have."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Reverse the ids."""
        encoded = super().__call__(*args, **kwargs)
        return {**encoded, "input_ids": encoded["input_ids"][::-1]}


def test_a_tokenizer_whose_ids_do_not_fit_is_one_sentence(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    reversing = UnsavedRule(tokenizer_object=tokenizer.backend_tokenizer, **tokenizer.special_tokens_map)
    with pytest.raises(BertvizError, match="the files that its save_pretrained writes make"):
        open_model(model, reversing)
    tokenizer.add_tokens(["newest"])
    opened, rows = open_model(model, tokenizer), model.get_input_embeddings().num_embeddings
    assert tokenizer.convert_tokens_to_ids("newest") >= rows
    with pytest.raises(BertvizError, match=f"has {rows:,} rows"):
        opened.predict("the newest cat")


class Lying(PreTrainedTokenizerFast):
    """A tokenizer whose answer to a text is another one."""

    answer: Any = None

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Return the answer, or raise it."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"input_ids": self.answer}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "makes the ids none of"),
        ([], "makes the ids"),
        ([[2, 3]], "makes the ids"),
        ([2] * 100_000, "more characters"),
        ([10**30, -1, "a"], "makes the ids"),
        (KeyError("\u202ex"), "cannot read 'The bank"),
        (RuntimeError("boom"), "cannot read 'The bank of the river, 1 Café.': boom."),
        (MemoryError(), "cannot read"),
    ],
)
def test_a_tokenizer_that_lies_is_one_short_sentence(own: tuple[Any, Any], answer: Any, words: str) -> None:
    model, tokenizer = own
    lying = Lying(tokenizer_object=tokenizer.backend_tokenizer, **tokenizer.special_tokens_map)
    lying.answer = answer
    with pytest.raises(BertvizError, match=words) as caught:
        open_model(model, lying)
    assert len(str(caught.value)) < 900
    assert str(caught.value).isprintable()


def test_a_changed_weight_is_seen_by_the_next_question_and_by_no_earlier_answer(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    opened = open_model(model, tokenizer=tokenizer)
    run = opened.trace(TEXTS[0])
    before, same = run.hidden_states.copy(), opened._opened
    assert opened._opened is same, "without a change nothing is copied again"
    with torch.no_grad():
        model.base_model.embeddings.word_embeddings.weight.data.mul_(1.5)
    after = opened.trace(TEXTS[0]).hidden_states
    with torch.no_grad():
        plain = model.eval().base_model(**tokenizer(TEXTS[0], return_tensors="pt"), output_hidden_states=True)
    np.testing.assert_allclose(after, torch.cat(plain.hidden_states).numpy(), atol=1e-5)
    np.testing.assert_array_equal(run.hidden_states, before)
    assert not np.allclose(after, before)


def test_new_labels_are_those_of_the_next_answer(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    opened = open_model(model, tokenizer=tokenizer)
    same = opened._opened
    before = opened.predict(TEXTS[0]).probabilities
    assert opened._opened is same, "without a change nothing is copied again"
    model.config.id2label = {0: "bad", 1: "good", 2: "so-so"}
    after = opened.predict(TEXTS[0]).probabilities
    assert list(after) == ["bad", "good", "so-so"]
    assert list(after.values()) == list(before.values())


def test_an_object_with_an_adapter_that_cannot_be_merged_is_refused(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    model.add_adapter(peft.LoraConfig(target_modules=["query"], init_lora_weights=False))
    with pytest.raises(BertvizError, match="an adapter of peft inside"):
        open_model(model, tokenizer=tokenizer)
    prompt = peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=2)
    wrapped = peft.get_peft_model(AutoModelForSequenceClassification.from_pretrained(FOLDER), prompt)
    with pytest.raises(BertvizError, match="an adapter of peft inside"):
        open_model(wrapped, tokenizer=tokenizer)


def test_a_peft_model_answers_as_itself_with_its_adapters_as_they_are_now(own: tuple[Any, Any]) -> None:
    settings = peft.LoraConfig(task_type="SEQ_CLS", target_modules=["query", "value"], init_lora_weights=False)
    model, tokenizer = peft.get_peft_model(own[0], settings), own[1]
    model.add_adapter("second", settings)
    torch.nn.init.normal_(model.get_base_model().classifier.modules_to_save["default"].weight)
    inputs, before = tokenizer(TEXTS[0], return_tensors="pt"), str(model.train().get_model_status())
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    opened = open_model(model, tokenizer=tokenizer)

    def answers_as_itself() -> list[float]:
        mode = model.training
        with torch.no_grad():
            expected = model.eval()(**inputs).logits.softmax(dim=-1)[0].tolist()
        model.train(mode)
        np.testing.assert_allclose(list(opened.predict(TEXTS[0]).probabilities.values()), expected, atol=1e-6)
        return expected

    answers = [answers_as_itself()]
    assert opened.name == type(model).__name__
    assert str(model.get_model_status()) == before
    assert model.training
    assert all((weights[name] == value).all() for name, value in model.state_dict().items())
    for part in model.modules():
        if isinstance(part, peft.tuners.lora.LoraLayer):
            part.set_scale("default", 4.0)
    answers.append(answers_as_itself())
    model.set_adapter("second")
    answers.append(answers_as_itself())
    with model.disable_adapter():
        answers.append(answers_as_itself())
    assert len({tuple(np.round(each, 6)) for each in answers}) == len(answers), "each state has an answer of its own"


def test_hooks_mode_gradients_and_attention_are_as_before(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    recorded: list[str] = []
    model.base_model.register_forward_hook(lambda *_: recorded.append("run"))
    model(**tokenizer(TEXTS[0], return_tensors="pt")).logits.sum().backward()
    model.base_model.pooler.dense.weight.requires_grad_(False)

    def state() -> list[Any]:
        modules = [(name, each.training, len(each._forward_hooks)) for name, each in model.named_modules()]
        weights = [
            (name, each.requires_grad, None if each.grad is None else each.grad.sum().item(), each.data_ptr())
            for name, each in model.named_parameters()
        ]
        return [modules, weights, model.config._attn_implementation, model.dtype, model.device, list(recorded)]

    before = state()
    opened = open_model(model, tokenizer=tokenizer)
    opened.trace(TEXTS[0]).figure(layer=0, head=0)
    opened.effects(TEXTS[0], target="class:neutral")
    opened.words(TEXTS[0], target="class:neutral", method="integrated-gradients")
    assert state() == before


def test_a_model_of_sentence_transformers_has_its_own_tokenizer_and_pooling(tmp_path: Path) -> None:
    save_tiny("bert", tmp_path / "tiny")
    modules = sentence_transformers.sentence_transformer.modules
    words = modules.Transformer(str(tmp_path / "tiny"))
    model = sentence_transformers.SentenceTransformer(
        modules=[words, modules.Pooling(words.get_embedding_dimension(), "max")], device="cpu"
    )
    opened = open_model(model)
    expected = model.similarity(model.encode(TEXTS), model.encode(TEXTS)).numpy()
    np.testing.assert_allclose(opened.sentences(TEXTS).similarity, expected, atol=1e-5)
    with pytest.raises(BertvizError, match="its own tokenizer"):
        open_model(model, tokenizer=model.tokenizer)


def test_settings_of_sentence_transformers_are_followed(tmp_path: Path) -> None:
    save_tiny("bert", tmp_path / "tiny")
    modules = sentence_transformers.sentence_transformer.modules
    words = modules.Transformer(str(tmp_path / "tiny"))
    pooling = modules.Pooling(words.get_embedding_dimension(), "max")
    model = sentence_transformers.SentenceTransformer(modules=[words, pooling], device="cpu")
    opened = open_model(model)
    before = opened.sentences(TEXTS).data.vectors
    same = opened._opened
    for part, name, value in (
        (model, "max_seq_length", 5),
        (pooling, "pooling_mode", "mean"),
        (model, "prompts", {"q": "rained all ", "d": "a "}),
        (model, "default_prompt_name", "q"),
        (model, "truncate_dim", 3),
        (model, "similarity_fn_name", "dot"),
    ):
        setattr(part, name, value)
        expected, answer = model.encode(TEXTS), opened.sentences(TEXTS)
        assert opened._opened is not same, name
        same = opened._opened
        np.testing.assert_allclose(answer.data.vectors, expected, atol=1e-5, err_msg=name)
        assert before.shape != expected.shape or not np.allclose(before, expected), "the setting changes something"
    model.encode(TEXTS)
    opened.sentences(TEXTS)
    assert opened._opened is same, "without a change nothing is copied again"


def test_a_changed_tokenizer_is_that_of_the_next_answer(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    opened = open_model(model, tokenizer=tokenizer)
    assert opened.tokens("A CAT sat").data.tokens != ()
    tokenizer.add_tokens(["sat on"])
    tokenizer(TEXTS, padding=True, truncation=True)
    expected = tokenizer.convert_ids_to_tokens(tokenizer("a cat sat on it").input_ids)
    assert "sat on" in expected
    assert list(opened.tokens("a cat sat on it").data.tokens) == expected


def test_its_copy_goes_with_the_last_answer_and_pickled_numbers_stay(own: tuple[Any, Any]) -> None:
    opened = open_model(own[0], tokenizer=own[1])
    run = opened.trace(TEXTS[0])
    folder, pickled, states = opened._opened.copy.folder, pickle.dumps(run), run.hidden_states
    del opened
    assert folder.is_dir()
    del run
    gc.collect()
    assert not folder.exists()
    again = pickle.loads(pickled)
    np.testing.assert_array_equal(again.hidden_states, states)
    with pytest.raises(BertvizError, match="a program that has ended"):
        again.figure("cell")


@pytest.mark.slow
def test_a_list_has_an_answer_for_each_text(in_workplace: Path) -> None:
    model = open_model(FOLDER)
    for ask in (model.trace, model.predict, lambda *each: model.effects(*each, target="class:neutral")):
        for pairs in (None, "another", ["one", "other"]):
            own_pairs = pairs if isinstance(pairs, list) else [pairs] * 2
            for many, text, pair in zip(ask(TEXTS, pairs), TEXTS, own_pairs, strict=True):
                single, listed = ask(text, pair).to_pandas(), many.to_pandas()
                assert list(single.columns) == list(listed.columns)
                np.testing.assert_allclose(single.to_numpy(), listed.to_numpy(), atol=1e-5)
    assert model.trace([]) == []
