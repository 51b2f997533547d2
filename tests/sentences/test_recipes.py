"""Hidden recipes of other programs are named, and those that cannot be known are not.

The vectors come from sentence-transformers and transformers. Covers `bertviz_core/sentences/analysis/recipes.py`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.texts.vectors import tokenizers
from bertviz_core.sentences.analysis.recipes import explain_vectors
from bertviz_core.sentences.analysis.results import VectorExplanation
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import HIDDEN, save_tiny
from tests.trace.isolated.test_file_tokenizer import REBUILT, saved

TEXTS = (
    "I love my pet python.", "THE pythons, my love", "the river bank " * 9, "pet", "my river : the bank",
    "love the pythons of the river", "the bank", "I, my pet, the river.",
)  # fmt: skip
PROMPTS = {"query": "the river : ", "document": "my pet "}
WIDE, LAST = 7, 3
"""Dimensions after the dense layer, and the last entry of the hidden states."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sentence-transformers: mean, one dense layer, normalised, with two prompts and none by default."""
    from sentence_transformers.sentence_transformer import modules

    path = tmp_path_factory.mktemp("recipes")
    torch.manual_seed(0)
    transformer = modules.Transformer(str(save_tiny("bert", path / "bert")), max_seq_length=24)
    dense = modules.Dense(HIDDEN, WIDE, activation_function=torch.nn.Tanh())
    parts = [transformer, modules.Pooling(HIDDEN, "mean"), dense, modules.Normalize()]
    SentenceTransformer(modules=parts, device="cpu", prompts=PROMPTS).save(str(path / "saved"))
    return path / "saved"


@pytest.fixture(scope="module")
def opened(folder: Path) -> OpenedModel:
    return OpenedModel(str(folder), Settings.from_environment(any_folder=True))


def library(folder: Path, **changes: Any) -> SentenceTransformer:
    """The model of the folder in sentence-transformers, with some modules otherwise."""
    from sentence_transformers.sentence_transformer import modules

    model = SentenceTransformer(str(folder), device="cpu", truncate_dim=changes.get("truncate_dim"))
    transformer, dense = model[0], model[2]
    pooling = modules.Pooling(
        HIDDEN, changes.get("pooling", "mean"), include_prompt=changes.get("include_prompt", True)
    )
    parts = [transformer, pooling, *([dense] if changes.get("dense", True) else [])]
    parts += [modules.Normalize()] if changes.get("normalize", True) else []
    made = SentenceTransformer(modules=parts, device="cpu", prompts=PROMPTS, truncate_dim=changes.get("truncate_dim"))
    made.max_seq_length = changes.get("max_seq_length", 24)
    if side := changes.get("padding_side"):
        made.tokenizer.padding_side = side
    return made.to(torch.bfloat16) if changes.get("bfloat16") else made


def states(folder: Path, side: str = "right", prompt: str = "") -> tuple[list[np.ndarray], np.ndarray]:
    """Hidden states of one padded batch by transformers, and its attention mask."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    tokenizer.padding_side = side
    texts = [prompt + text for text in TEXTS]
    batch = tokenizer(texts, padding=True, truncation=True, max_length=24, return_tensors="pt")
    with torch.no_grad():
        made = model(**batch, output_hidden_states=True)
    return [state.double().numpy() for state in made.hidden_states], batch["attention_mask"].numpy()


def mean(state: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray((state * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True))


POOLINGS = ("mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens")
PLAIN: Mapping[str, Any] = {
    "pooling": "mean",
    "dense": 1,
    "lengths": "unit",
    "prompt": "",
    "padding": "none",
    "layer": LAST,
}
Case = tuple[dict[str, Any], dict[str, Any]]
"""Changes of the library's modules, and fields of the recipe that they show in."""


def cases() -> Mapping[str, Case]:
    """Recipes of sentence-transformers."""
    listed: dict[str, Case] = {"the folder's own": ({}, {})}
    for pooling in POOLINGS:
        for dense in (True, False):
            for normalize in (True, False):
                # Without lengths, a sum over the root of the count has the direction of the mean.
                name = "mean" if pooling == "mean_sqrt_len_tokens" and normalize and not dense else pooling
                fields = {"pooling": name, "dense": int(dense), "lengths": "unit" if normalize else "as pooled"}
                changes = {"pooling": pooling, "dense": dense, "normalize": normalize}
                listed[f"{pooling}{', dense' * dense}{', unit' * normalize}"] = changes, fields
    for name, prompt in PROMPTS.items():
        for pooled in (True, False):
            fields = {"prompt": prompt, "include_prompt": pooled}
            listed[f"prompt {name}{'' if pooled else ', not pooled'}"] = (
                {"prompt": name, "include_prompt": pooled},
                fields,
            )
    for most in (4, 8, 16):
        listed[f"at most {most}"] = {"max_seq_length": most}, {"max_length": most}
    listed["left padding"] = {"padding_side": "left", "dense": False}, {"padding": "left", "dense": 0}
    listed["five dimensions"] = {"truncate_dim": 5}, {"dimensions": 5, "lengths": "unit, then cut"}
    listed["bfloat16"] = {"bfloat16": True, "dense": False}, {"dense": 0}
    return listed


CASES = cases()


def explained(opened: OpenedModel, vectors: np.ndarray, texts: tuple[str, ...] = TEXTS) -> VectorExplanation:
    plan = recommended(opened.source, opened.settings)
    return explain_vectors(opened.loaded, plan, tokenizers(opened), texts, vectors)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(12)
def test_a_recipe_of_sentence_transformers_is_named(name: str, folder: Path, opened: OpenedModel) -> None:
    changes, fields = CASES[name]
    made = library(folder, **changes).encode(list(TEXTS), prompt_name=changes.get("prompt"), convert_to_tensor=True)
    found = explained(opened, made.float().numpy())
    best = found.matches[0]
    assert found.reproduced, (best, found.recipes)
    wanted = {**PLAIN, **fields}
    assert {field: getattr(best.recipe, field) for field in wanted} == wanted
    named = {name for name, value in fields.items() if value != {**PLAIN, "include_prompt": True}.get(name)}
    assert named <= set(best.differences) <= {*named, "dimensions", "dtype"}


def by_transformers(folder: Path) -> Mapping[str, tuple[np.ndarray, dict[str, Any]]]:
    """Recipes that are written by hand around transformers."""
    right, mask = states(folder)
    left, left_mask = states(folder, "left")
    model = AutoModel.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        pooler = [model(**tokenizer(text, truncation=True, max_length=24, return_tensors="pt")).pooler_output[0].numpy()
                  for text in TEXTS]  # fmt: skip
    plain = {"dense": 0, "lengths": "as pooled"}
    return {
        "the embeddings": (mean(right[0], mask), {**plain, "layer": 0}),
        "the layer before": (mean(right[LAST - 1], mask), {**plain, "layer": LAST - 1}),
        "first token of the layer before": (right[LAST - 1][:, 0], {**plain, "layer": LAST - 1, "pooling": "cls"}),
        "padding in the mean": (right[LAST].mean(axis=1), {**plain, "include_padding": True, "padding": "right"}),
        "the last place of a padded row": (
            right[LAST][:, -1], {**plain, "pooling": "lasttoken", "include_padding": True, "padding": "right"},
        ),
        "the first place of a row padded in front": (
            left[LAST][:, 0], {**plain, "pooling": "cls", "include_padding": True, "padding": "left"},
        ),
        "mean of a row padded in front": (mean(left[LAST], left_mask), {**plain, "padding": "left"}),
        "the pooler": (np.array(pooler), {**plain, "pooling": "pooler"}),
        "times three": (3 * mean(right[LAST], mask) / np.linalg.norm(mean(right[LAST], mask), axis=1, keepdims=True),
                        {"dense": 0, "lengths": "scaled"}),
        "whole numbers": (np.round(900 * mean(right[LAST], mask)), {"dense": 0, "lengths": "scaled"}),
    }  # fmt: skip


@pytest.mark.parametrize("name", range(10))
def test_a_recipe_around_transformers_is_named(name: int, folder: Path, opened: OpenedModel) -> None:
    every = by_transformers(folder)
    vectors, fields = list(every.values())[name]
    found = explained(opened, vectors)
    assert found.reproduced, (list(every)[name], found.matches[:2])
    assert {field: getattr(found.matches[0].recipe, field) for field in fields} == fields


def unknowable(folder: Path) -> Mapping[str, np.ndarray]:
    """Vectors that no recipe of the search makes."""
    right, mask = states(folder)
    plain, random = mean(right[LAST], mask), np.random.default_rng(0)
    inside = mask.copy()
    inside[:, 0] = 0
    inside[np.arange(len(mask)), mask.sum(axis=1) - 1] = 0
    prompted, prompted_mask = states(folder, prompt="of my love the ")
    own = library(folder).encode(list(TEXTS))
    return {
        "an unknown prompt": mean(prompted[LAST], prompted_mask),
        "without the special tokens": mean(right[LAST], np.maximum(inside, 0)),
        "the mean of two layers": (plain + mean(right[LAST - 1], mask)) / 2,
        "less the mean vector": plain - plain.mean(axis=0),
        "turned": plain @ np.linalg.qr(random.normal(size=(HIDDEN, HIDDEN)))[0],
        "another order of the rows": own[::-1],
        "squared": plain * np.abs(plain),
        "noise": random.normal(size=plain.shape),
        "with noise": plain + 0.2 * plain.std() * random.normal(size=plain.shape),
        "a length for each": plain * random.uniform(0.5, 2, size=(len(plain), 1)),
    }


@pytest.mark.parametrize("place", range(10))
def test_what_cannot_be_known_is_not_named(place: int, folder: Path, opened: OpenedModel) -> None:
    name, vectors = list(unknowable(folder).items())[place]
    found = explained(opened, vectors)
    assert not found.reproduced, (name, found.matches[0])
    assert found.matches[0].mean_cosine >= found.matches[1].mean_cosine - 1e-9
    assert found.matches[0].worst_cosine <= found.matches[0].mean_cosine


def test_the_prompts_of_the_family_are_tried_by_themselves(tmp_path: Path) -> None:
    """The folder names no prompts, and its name is that of a BGE model."""
    from sentence_transformers.sentence_transformer import modules

    torch.manual_seed(0)
    transformer = modules.Transformer(str(save_tiny("bert", tmp_path / "bert")))
    made = SentenceTransformer(modules=[transformer, modules.Pooling(HIDDEN, "mean")], device="cpu")
    made.save(str(tmp_path / "bge-small-en-v1.5"))
    prompt = "Represent this sentence for searching relevant passages: "
    vectors = made.encode(list(TEXTS), prompt=prompt)
    found = explained(
        OpenedModel(str(tmp_path / "bge-small-en-v1.5"), Settings.from_environment(any_folder=True)), vectors
    )
    assert found.reproduced
    assert found.matches[0].recipe.prompt == prompt
    made.save(str(tmp_path / "of-no-family"))
    other = explained(OpenedModel(str(tmp_path / "of-no-family"), Settings.from_environment(any_folder=True)), vectors)
    assert not other.reproduced


@pytest.mark.parametrize("reads", ["AutoTokenizer", "tokenizer.json"])
@pytest.mark.parametrize("of_file", [False, True], ids=["the model", "the model by its file"])
def test_the_tokenizer_is_named_whichever_the_model_is_opened_with(tmp_path: Path, reads: str, of_file: bool) -> None:
    folder, by_file = saved(tmp_path / "tiny", REBUILT["BPE as GPT-2"])
    auto, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    texts = ("The bank by the river", "My pet python, my love", "THE river bank")
    ids = [auto(text)["input_ids"] if reads == "AutoTokenizer" else by_file.encode(text).ids for text in texts]
    with torch.no_grad():
        vectors = np.array([model(input_ids=torch.tensor([each])).last_hidden_state[0].mean(0).numpy() for each in ids])
    name = f"{folder}+tokenizer.json" if of_file else str(folder)
    found = explained(OpenedModel(name, Settings.from_environment(any_folder=True)), vectors, texts)
    assert found.reproduced
    assert (found.matches[0].recipe.tokenizer, found.matches[0].recipe.pooling) == (reads, "mean")
    assert ("tokenizer" in found.matches[0].differences) is (of_file != (reads == "tokenizer.json"))
