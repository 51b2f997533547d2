"""A canary: each thing that can change of a model is named, alone; numbers by sentence-transformers and scikit-learn.

Covers `bertviz_core/sentences/analysis/canary/`, `bertviz_core/questions/texts/canaries.py`.
"""

import base64
import json
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sklearn.neighbors import NearestNeighbors
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.texts.canaries import canary_of, checked_canary
from bertviz_core.sentences.analysis.canary.comparison import canary_check
from bertviz_core.sentences.analysis.canary.contents import FORMAT, FORMAT_VERSION, TEXTS
from bertviz_core.sentences.analysis.canary.file import canary_bytes, parsed_canary, read_canary, write_canary
from bertviz_core.sentences.analysis.canary.results import Canary, CanaryCheck
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import HIDDEN, save_tiny, tiny_model
from tests.sentences.test_folders import PROMPT, write

SETTINGS = replace(Settings.from_environment(), any_folder=True)
LISTED = ("I love my pet python.", "THE pythons, my love", "river bank " * 9, "pet", "my river", "a bank", "love")
CASE: Mapping[str, Any] = {
    "pooling": "mean",
    "dense": "Tanh",
    "normalize": True,
    "include_prompt": True,
    "length": 16,
    "lower": False,
}


def opened(folder: Path) -> OpenedModel:
    return OpenedModel(str(folder), SETTINGS)


def recipe_folder(folder: Path) -> Path:
    """A tiny model with pooling, dense layer, normalisation and prompt."""
    save_tiny("bert", folder)
    write(folder, CASE)
    torch.manual_seed(1)
    save_file(
        {"linear.weight": torch.randn(16, HIDDEN), "linear.bias": torch.randn(16)}, folder / "2_Dense/model.safetensors"
    )
    config = {"in_features": HIDDEN, "out_features": 16, "bias": True}
    change(folder, "2_Dense/config.json", **config)
    return folder


def change(folder: Path, name: str, **values: Any) -> None:
    """Change keys of a JSON file."""
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**content, **values}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recipe_folder(tmp_path_factory.mktemp("canary") / "model")


@pytest.fixture(scope="module")
def canary(folder: Path) -> Canary:
    return canary_of(opened(folder), LISTED).result


def checked(canary: Canary, folder: Path, **options: Any) -> CanaryCheck:
    return checked_canary(opened(folder), parsed_canary("c.json", canary_bytes(canary)), **options).result


def changed(canary: Canary, folder: Path, place: Path, alter: Callable[[Path], None]) -> CanaryCheck:
    """The check of a copy of a model with one change."""
    shutil.copytree(folder, place)
    alter(place)
    return checked(canary, place)


def vectors_by_library(folder: Path) -> np.ndarray:
    library = SentenceTransformer(str(folder), device="cpu")
    return np.asarray(library.encode(list(LISTED)), dtype=np.float64)


def test_an_unchanged_model_passes_and_its_canary_has_the_numbers_of_the_library(folder: Path, canary: Canary) -> None:
    check = checked(canary, folder)
    assert (check.passed, check.causes, check.tokens, check.beyond, len(check.moved)) == (True, (), (), 0, 0)
    assert check.changes is not None
    assert not check.changes.any()
    np.testing.assert_allclose(canary.vectors, vectors_by_library(folder), atol=2e-6)
    library = SentenceTransformer(str(folder), device="cpu").tokenizer
    assert [list(each.ids) for each in canary.texts] == [library(PROMPT + text)["input_ids"] for text in LISTED]


def one_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.output.dense.weight"][3, 5] += 2.0
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def test_one_weight_is_named_alone_with_the_change_of_its_vectors(canary: Canary, folder: Path, tmp_path: Path) -> None:
    check = changed(canary, folder, tmp_path / "model", one_weight)
    assert check.causes == ("weights",)
    assert [each.name for each in check.files] == ["model.safetensors"]
    assert not check.passed
    before, after = vectors_by_library(folder), vectors_by_library(tmp_path / "model")
    relative = np.linalg.norm(after - before, axis=1) / np.linalg.norm(before, axis=1)
    np.testing.assert_allclose(check.changes, relative, atol=1e-5)
    np.testing.assert_allclose(check.absolute, np.abs(after - before).max(axis=1), atol=1e-5)
    np.testing.assert_allclose(check.cosines, (before * after).sum(axis=1), atol=1e-5)


def test_a_weight_of_a_dense_layer_is_a_weight(canary: Canary, folder: Path, tmp_path: Path) -> None:
    def alter(place: Path) -> None:
        file = place / "2_Dense" / "model.safetensors"
        weights = load_file(file)
        weights["linear.bias"][0] += 1.0
        save_file(weights, file)

    check = changed(canary, folder, tmp_path / "model", alter)
    assert check.causes == ("weights",)
    assert [each.name for each in check.files] == ["2_Dense/model.safetensors"]
    assert not check.passed


FIELDS: Mapping[str, tuple[str, Mapping[str, Any], str, str]] = {
    "pooling": ("1_Pooling/config.json", {"pooling_mode": "max"}, "mean", "max"),
    "include_prompt": ("1_Pooling/config.json", {"include_prompt": False}, "true", "false"),
    "dense": (
        "2_Dense/config.json",
        {"activation_function": "torch.nn.modules.activation.ReLU"},
        "12 to 16, tanh",
        "12 to 16, relu",
    ),
    "max_tokens": ("sentence_bert_config.json", {"max_seq_length": 8}, "16", "8"),
    "lower_case": ("sentence_bert_config.json", {"do_lower_case": True}, "false", "true"),
    "prompt": ("config_sentence_transformers.json", {"default_prompt_name": None}, PROMPT, ""),
    "truncate_dim": ("config_sentence_transformers.json", {"truncate_dim": 9}, "none", "9"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", FIELDS)
def test_one_field_of_the_recipe_is_named_alone(name: str, canary: Canary, folder: Path, tmp_path: Path) -> None:
    file, values, before, after = FIELDS[name]
    check = changed(canary, folder, tmp_path / "model", lambda place: change(place, file, **values))
    assert check.causes == ("recipe",)
    assert [(each.name, each.before, each.after) for each in check.recipe] == [(name, before, after)]
    assert [each.name for each in check.files] == [file]
    assert check.passed == (name == "lower_case")  # the tokenizer makes lower case of every text anyway
    if name == "truncate_dim":
        assert (check.changes, check.dimensions, check.file_dimensions, check.beyond) == (None, 9, 16, len(LISTED))


def test_lengths_are_named_alone(canary: Canary, folder: Path, tmp_path: Path) -> None:
    def alter(place: Path) -> None:
        modules = json.loads((place / "modules.json").read_text())
        (place / "modules.json").write_text(json.dumps(modules[:-1]))

    check = changed(canary, folder, tmp_path / "model", alter)
    assert check.causes == ("recipe",)
    assert [each.name for each in check.recipe] == ["normalized"]
    np.testing.assert_allclose(check.cosines, 1, atol=1e-6)
    assert not check.passed


def test_the_config_and_a_file_without_effect_are_named(canary: Canary, folder: Path, tmp_path: Path) -> None:
    check = changed(canary, folder, tmp_path / "one", lambda place: change(place, "config.json", layer_norm_eps=0.5))
    assert (check.causes, check.passed) == (("config",), False)
    check = changed(canary, folder, tmp_path / "two", lambda place: change(place, "tokenizer_config.json", clean="no"))
    assert (check.causes, check.passed, [each.name for each in check.files]) == (
        ("files",),
        True,
        ["tokenizer_config.json"],
    )


def bpe_folder(folder: Path, merges: list[tuple[str, str]]) -> Path:
    """A tiny model with a byte-pair tokenizer of these merges."""
    pieces = ["[UNK]", *"abcdehlo", "he", "ll", "hell", "hello", "ab"]
    backend = Tokenizer(models.BPE({piece: place for place, piece in enumerate(pieces)}, merges, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tiny_model("bert", vocab_size=len(pieces)).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[UNK]").save_pretrained(folder)
    return folder


def test_one_merge_of_the_tokenizer_is_named_alone(tmp_path: Path) -> None:
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("a", "b")]
    before = bpe_folder(tmp_path / "before", merges)
    after = bpe_folder(tmp_path / "after", [*merges[:3], merges[4]])
    made = canary_of(opened(before), ("ab ab hello", "abcd", "hello")).result
    check = checked(made, after)
    assert (check.causes, check.passed) == (("tokens",), False)
    assert [(each.text, each.position, each.before, each.after) for each in check.tokens] == [
        (0, 2, ("hello",), ("hell", "o")),
        (2, 0, ("hello",), ("hell", "o")),
    ]
    assert [(each.name, each.kind) for each in check.files] == [("tokenizer.json", "tokenizer")]
    assert check.changes is not None
    assert (check.changes > check.tolerance).tolist() == [True, False, True]
    by_file = [Tokenizer.from_file(str(place / "tokenizer.json")) for place in (before, after)]
    assert [each.ids for each in made.texts] == [tuple(by_file[0].encode(each.text).ids) for each in made.texts]
    assert by_file[1].encode("hello").tokens == ["hell", "o"]


def test_a_version_is_named_alone_and_harms_nothing(canary: Canary, folder: Path) -> None:
    check = checked(replace(canary, versions={**canary.versions, "transformers": "4.0.0"}), folder)
    assert (check.causes, check.passed) == (("versions",), True)
    assert [(each.name, each.before) for each in check.versions] == [("transformers", "4.0.0")]


def moved_by(canary: Canary, step: float) -> Canary:
    """The canary with every vector changed by this share of its length, at a right angle."""
    rng, vectors = np.random.default_rng(0), canary.vectors.astype(np.float64)
    noise = rng.standard_normal(vectors.shape)
    noise -= vectors * ((noise * vectors).sum(1) / (vectors**2).sum(1))[:, None]
    noise *= (step * np.linalg.norm(vectors, axis=1) / np.linalg.norm(noise, axis=1))[:, None]
    rows = zip(canary.texts, (vectors + noise).astype("<f4"), strict=True)
    return replace(canary, texts=tuple(replace(each, vector=row.tobytes()) for each, row in rows))


@pytest.mark.parametrize(("step", "passed"), [(1e-6, True), (5e-5, True), (2e-4, False), (1e-2, False)])
def test_rounding_is_below_the_tolerance(step: float, passed: bool, canary: Canary, folder: Path) -> None:
    check = checked(moved_by(canary, step), folder)
    assert (check.passed, check.causes) == (passed, ())
    assert check.changes is not None
    np.testing.assert_allclose(check.changes, step, rtol=0.1)
    np.testing.assert_allclose(check.cosines, 1 / math.hypot(1, step), atol=1e-8)
    assert checked(moved_by(canary, step), folder, tolerance=2 * step).passed


def test_neighbours_are_those_of_scikit_learn(canary: Canary) -> None:
    rng = np.random.default_rng(3)
    before, after = (rng.standard_normal((40, 8)).astype("<f4") for _ in range(2))
    sides = [
        replace(
            canary,
            texts=tuple(
                replace(canary.texts[0], text=str(place), vector=row.tobytes()) for place, row in enumerate(rows)
            ),
        )
        for rows in (before, after)
    ]
    check = canary_check(*sides)
    for found, rows in ((check.nearest_before, before), (check.nearest_after, after)):
        tree = NearestNeighbors(n_neighbors=1, metric="cosine").fit(rows)
        assert found.tolist() == tree.kneighbors(return_distance=False)[:, 0].tolist()
    expected = np.flatnonzero(check.nearest_before != check.nearest_after).tolist()
    assert (check.moved.tolist(), check.moved_beyond_ties.tolist()) == (expected, expected)


def test_a_move_between_equal_vectors_is_a_tie(canary: Canary) -> None:
    before = np.array([[1, 0], [1, 0.1], [1, 0.1], [-1, 0], [-1, 0.3]], dtype="<f4")
    after = before.copy()
    after[1] = [1, 0.1001]  # now the third is nearer to the first
    after[4] = [1, 0]
    sides = [
        replace(
            canary,
            texts=tuple(
                replace(canary.texts[0], text=str(place), vector=row.tobytes()) for place, row in enumerate(rows)
            ),
        )
        for rows in (before, after)
    ]
    check = canary_check(*sides)
    assert check.nearest_before.tolist() == [1, 2, 1, 4, 3]
    assert check.nearest_after.tolist() == [4, 2, 1, 1, 0]
    assert check.moved_beyond_ties.tolist() == [0, 3, 4]
    after[4] = before[4]
    sides[1] = replace(
        sides[1],
        texts=tuple(replace(each, vector=row.tobytes()) for each, row in zip(sides[1].texts, after, strict=True)),
    )
    check = canary_check(*sides)
    assert (check.moved.tolist(), check.moved_beyond_ties.tolist()) == ([0], [])


def test_not_a_number_is_never_kept_and_is_a_change(canary: Canary, folder: Path, tmp_path: Path) -> None:
    def alter(place: Path) -> None:
        weights = load_file(place / "model.safetensors")
        weights["encoder.layer.1.output.dense.weight"][:] = math.nan
        save_file(weights, place / "model.safetensors", {"format": "pt"})

    check = changed(canary, folder, tmp_path / "model", alter)
    assert (check.causes, check.passed, check.beyond) == (("weights",), False, len(LISTED))
    with pytest.raises(CheckpointError, match="NaN or infinity"):
        canary_of(opened(tmp_path / "model"), LISTED)


def test_a_file_is_read_as_it_was_written(canary: Canary, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write_canary(path, canary)
    assert read_canary(path) == canary
    assert [each.name for each in tmp_path.iterdir()] == ["c.json"]
    plain = json.loads(path.read_text())
    assert (plain["format"], plain["format_version"]) == (FORMAT, FORMAT_VERSION)
    row = np.frombuffer(base64.b64decode(plain["texts"][2]["vector"]), dtype="<f4")
    np.testing.assert_array_equal(row, canary.vectors[2])
    plain["later"] = {"a": [1]}  # a key that a later version may add
    path.write_text(json.dumps(plain))
    assert read_canary(path) == canary


@pytest.mark.parametrize(
    ("alter", "words"),
    [
        (lambda plain: {}, "is no canary"),
        (lambda plain: {**plain, "format_version": 2}, "format version 2"),
        (lambda plain: {**plain, "texts": []}, "0 texts"),
        (lambda plain: {**plain, "texts": [plain["texts"][0]] * 2}, "there twice"),
        (lambda plain: with_text(plain, vector="AAAA"), "not of one length"),
        (lambda plain: with_text(plain, vector="A A="), "Invalid base64"),
        (lambda plain: with_text(plain, vector=base64.b64encode(np.full(16, np.nan, "<f4").tobytes()).decode()), "NaN"),
        (lambda plain: with_text(plain, ids=[1]), "do not match"),
        (lambda plain: with_text(plain, ids=[-1] * len(plain["texts"][0]["ids"])), "do not match"),
        (lambda plain: with_text(plain, text=5), "is damaged"),
        (lambda plain: {**plain, "recipe": {**plain["recipe"], "pooling": "median"}}, "is damaged"),
        (lambda plain: {**plain, "model": "x" * 2_000}, "characters"),
        (lambda plain: {**plain, "files": [{"name": "a", "kind": "weights", "sha256": "x"}]}, "no SHA-256"),
        (lambda plain: {**plain, "versions": {str(place): "1" for place in range(101)}}, "too many"),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(
    alter: Callable[[dict[str, Any]], dict[str, Any]], words: str, canary: Canary, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(alter(json.loads(canary_bytes(canary)))))
    with pytest.raises(CheckpointError, match=words) as error:
        read_canary(path)
    assert "\n" not in str(error.value)


def with_text(plain: dict[str, Any], **values: Any) -> dict[str, Any]:
    """The content of a file with changes of its first text."""
    return {**plain, "texts": [{**plain["texts"][0], **values}, *plain["texts"][1:]]}


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x80\x04pickle", b"[" * 200_000, b'{"format": ' + b"[" * 200_000, b"[" + b"1," * 20_000_001 + b"1]"],
    ids=["empty", "pickle", "deep", "deep inside", "long"],
)
def test_hostile_bytes_are_refused(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(raw)
    with pytest.raises(CheckpointError):
        read_canary(tmp_path / "c.json")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "a\0b"):
        with pytest.raises(CheckpointError):
            read_canary(path)


def test_texts_are_there_once_and_the_default_ones_are_of_many_scripts(folder: Path) -> None:
    answer = canary_of(opened(folder), ("pet", "pet", "love"))
    assert (answer.texts, answer.notices[0]) == (("pet", "love"), "1 text that others repeat left out.")
    assert len(TEXTS) == len(set(TEXTS)) == 40
    alone = canary_of(opened(folder), ("pet",)).result
    check = checked(alone, folder)
    assert (check.passed, check.nearest_before.tolist(), len(check.moved)) == (True, [-1], 0)
    with pytest.raises(TextError, match="at most 10,000 texts"):
        canary_of(opened(folder), [str(place) for place in range(10_001)])
    with pytest.raises(TextError, match="tolerance"):
        checked(alone, folder, tolerance=-1.0)
    assert msgspec.json.decode(canary_bytes(alone))["model"] == str(folder)
