"""Targets of a hidden state equal transformers' own run: single numbers, and products with a vector of norm 1."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_core.errors import TextError
from bertviz_core.interventions.target_parsing import open_target
from bertviz_core.interventions.targets import direction_target, file_direction, state_target
from bertviz_core.models.sources import folder_source
from bertviz_core.text import decimals
from tests.helpers.tiny_heads import SETTINGS, save_tiny_head, tiny_head
from tests.helpers.tiny_models import HIDDEN, PAIR, TEXT
from tests.interventions.targets.test_target import CLASSES, clean, own_run


@pytest.mark.parametrize("entry", [0, 2, 3])
def test_a_hidden_state_is_the_number_that_the_model_gives_there(entry: int) -> None:
    head, tokenizer, own = tiny_head("bert", "sequence-classification", **CLASSES)
    target = state_target(head.base, tokenizer, TEXT, None, entry, 4, 7)
    assert clean(target)[0] == pytest.approx(float(own_run(own, target).hidden_states[entry][0, 4, 7]), abs=1e-6)
    assert target.last_state == (entry == 3)


@pytest.mark.parametrize("entry", [0, 2, 3])
def test_a_projection_is_the_dot_product_with_the_unit_vector(entry: int) -> None:
    head, tokenizer, own = tiny_head("bert", "sequence-classification", **CLASSES)
    vector = np.random.default_rng(0).normal(size=HIDDEN) * 3
    target = direction_target(head.base, tokenizer, TEXT, None, entry, 4, vector.astype(np.float32), "own.npy")
    state = own_run(own, target).hidden_states[entry][0, 4].numpy()
    assert clean(target)[0] == pytest.approx(float(state @ vector / np.linalg.norm(vector)), abs=1e-5)
    assert target.last_state == (entry == 3)
    assert f"its own length is {decimals(float(np.linalg.norm(vector)))}" in target.notices[-1]


def test_two_texts_and_a_file_name_a_direction(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", "sequence-classification", tmp_path / "tiny", num_labels=3)
    source = folder_source("tiny", folder)
    named = open_target(source, SETTINGS, TEXT, None, f"direction:2,3,{TEXT} -> {PAIR}")
    tokenizer, model = tiny_head("bert", "sequence-classification", **CLASSES)[1].tokenizer, named.loaded.model
    with torch.no_grad():
        states = [
            model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[2][0].numpy()
            for text in (TEXT, PAIR)
        ]
    way = states[1].mean(axis=0) - states[0].mean(axis=0)
    expected = float(states[0][3] @ way / np.linalg.norm(way))
    assert clean(named)[0] == pytest.approx(expected, abs=1e-5)
    file = tmp_path / "way.npy"
    np.save(file, way * 7)
    read = open_target(source, replace(SETTINGS, any_folder=True), TEXT, None, f"direction:2,3,{file}")
    assert clean(read)[0] == pytest.approx(expected, abs=1e-5)
    back = open_target(source, SETTINGS, TEXT, None, f"direction:2,3,{PAIR}->{TEXT}")
    assert clean(back)[0] == pytest.approx(-expected, abs=1e-5)


def test_what_is_no_direction_is_told(tmp_path: Path) -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", **CLASSES)
    for vector, words in ((np.zeros(HIDDEN), "has length 0"), (np.full(HIDDEN, np.nan), "has length nan")):
        with pytest.raises(TextError, match=words):
            direction_target(head.base, tokenizer, TEXT, None, 1, 2, vector.astype(np.float32), "own.npy")
    short = direction_target(head.base, tokenizer, TEXT, None, 1, 2, np.ones(3, np.float32), "own.npy")
    with pytest.raises(TextError, match=f"has {HIDDEN} numbers, the vector of 'own.npy' has 3; give one of"):
        clean(short)
    files = {"map.npy": np.ones((2, 2)), "words.npy": np.array(["a"]), "objects.npy": np.array([{}], dtype=object)}
    for name, array in files.items():
        np.save(tmp_path / name, array, allow_pickle=True)
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "map.npy").read_bytes()[:40])
    (tmp_path / "zip.npy").write_bytes(b"PK\x03\x04")
    os.mkfifo(tmp_path / "pipe.npy")
    right = (tmp_path / "map.npy").read_bytes()
    headers = {"open.npy": b"(2, 2 ", "text-shape.npy": b"'2, 2'", "open-text.npy": b"('2, 2", "minus.npy": b"(-2,) "}
    for name, shape in headers.items():
        (tmp_path / name).write_bytes(right.replace(b"(2, 2)", shape))
    for name in (*files, *headers, "text.npy", "cut.npy", "zip.npy", "pipe.npy", "nowhere.npy"):
        with pytest.raises(TextError, match="is no vector of numbers|cannot be read"):
            file_direction(str(tmp_path / name))
