"""What a checkpoint says about late interaction, and one sentence for each damaged one.

Covers `bertviz_core/predictions/late_interaction_modules.py`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviz_core.errors import BertvizError
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions import late_interaction_modules
from bertviz_core.predictions.late_interaction import InteractionEncoder, late_interaction
from bertviz_core.predictions.late_interaction_plan import UNTRAINED, interaction_plan
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.sentences import pooling
from bertviz_core.settings import Settings
from tests.helpers.multi_vector import (
    DIMENSIONS,
    DOCUMENT,
    EXPANDED,
    change,
    save_multi_vector,
    save_pylate,
    save_stanford,
)
from tests.helpers.tiny_models import HIDDEN, save_tiny

SETTINGS = Settings.from_environment(any_folder=True)
CONFIG, LENGTHS = "config_sentence_transformers.json", "sentence_bert_config.json"


def compared(folder: Path) -> None:
    opened = OpenedModel(str(folder), SETTINGS)
    plan = interaction_plan(opened.source, opened.settings)
    late_interaction(InteractionEncoder(opened.loaded, opened.tokenizer, plan), "my pet", "the river")


@pytest.mark.parametrize(
    ("save", "kind", "prompt"),
    [
        (lambda folder: save_multi_vector("bert", folder), "sentence-transformers", "my "),
        (save_pylate, "PyLate", "[Q] "),
        (save_stanford, "Stanford", "[unused0] "),
    ],
)
def test_the_three_formats_name_their_steps(
    save: Callable[[Path], Path], kind: str, prompt: str, tmp_path: Path
) -> None:
    plan = interaction_plan(folder_source("tiny", save(tmp_path / "tiny")), SETTINGS)
    assert (plan.format, plan.trained, plan.query.prompt) == (kind, True, prompt)
    assert (plan.query.length, plan.document.length) == (EXPANDED, DOCUMENT)
    assert [layer.weight.shape for layer in plan.dense] == [(DIMENSIONS, HIDDEN)]
    assert (plan.query.skips, plan.document.skips, plan.normalize) == (False, True, True)
    for words in (kind, f"to {DIMENSIONS} dimensions", f"masks to {EXPANDED} tokens", "unit length"):
        assert words in plan.reason
    assert plan.reason.count(".") == 1


def test_another_encoder_has_no_projection_and_says_so(tmp_path: Path) -> None:
    plan = interaction_plan(folder_source("tiny", save_tiny("bert", tmp_path / "tiny")), SETTINGS)
    assert (plan.dense, plan.expansion, plan.skiplist, plan.reason) == ((), None, (), UNTRAINED)
    assert not plan.trained


def listed(folder: Path, *kinds: str) -> None:
    """Write a list of modules, the encoder and others with their folders."""
    entries = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
    entries += [
        {"type": kind, "path": f"{place}_{kind.rpartition('.')[2]}"} for place, kind in enumerate(kinds, start=1)
    ]
    (folder / "modules.json").write_text(json.dumps(entries))


def without(folder: Path, name: str) -> None:
    """Take a tensor out of the weights."""
    path = folder / "model.safetensors"
    save_file({key: each for key, each in load_file(path).items() if key != name}, path, {"format": "pt"})


def widened(path: Path) -> None:
    """Write a projection of vectors of another width."""
    save_file({"linear.weight": torch.ones(DIMENSIONS, HIDDEN + 3)}, path)


def wide_stanford(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file({**load_file(path), "linear.weight": torch.ones(DIMENSIONS, HIDDEN + 3)}, path, {"format": "pt"})


def flat_stanford(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file({**load_file(path), "linear.weight": torch.ones(DIMENSIONS)}, path, {"format": "pt"})


DEEP = "[" * 100_000
PYLATE: list[tuple[Callable[[Path], Any], str]] = [
    (lambda folder: listed(folder), "names no Dense, which is its projection"),
    (lambda folder: listed(folder, "pylate.models.Dense.Dense", "my_code.Squash"), "my_code.Squash' is not known"),
    (lambda folder: listed(folder, "sentence_transformers.models.LSTM"), "LSTM' is not known here"),
    (lambda folder: listed(folder, "pylate.models.Other"), "Other' is not known"),
    (lambda folder: widened(folder / "1_Dense/model.safetensors"), "do not belong together"),
    (lambda folder: (folder / "1_Dense/model.safetensors").unlink(), "no model.safetensors"),
    (lambda folder: (folder / "1_Dense/model.safetensors").write_bytes(b"no"), "cannot be read"),
    (lambda folder: change(folder, "1_Dense/config.json", activation_function="my.Act"), "'my.Act'"),
    (lambda folder: change(folder, "1_Dense/config.json", use_residual=True), "needs its projection"),
    (lambda folder: (folder / "modules.json").write_text(DEEP), "modules.json"),
    (lambda folder: (folder / "modules.json").write_text('[{"type": "a", "path": "../.."}]'), "leads out"),
    (lambda folder: (folder / "modules.json").write_text('[{"type": "a", "path": "b"}]'), "first module"),
    (lambda folder: change(folder, CONFIG, skiplist_words="."), "skiplist_words is not a list"),
    (lambda folder: change(folder, CONFIG, skiplist_words=[1]), "skiplist_words is not a list"),
    (lambda folder: change(folder, CONFIG, query_prefix="q" * 20_000), "query_prefix has more than"),
    (lambda folder: change(folder, CONFIG, query_length=500), "fills queries up to 500 tokens"),
    (lambda folder: change(folder, CONFIG, query_expansion={"strategy": "all", "length": 3}), "query_expansion is"),
    (lambda folder: change(folder, LENGTHS, query_expansion=[DEEP[:9]]), "query_expansion is"),
    (lambda folder: change(folder, LENGTHS, query_expansion={"strategy": "min", "length": True}), "query_expansion is"),
    (
        lambda folder: change(folder, LENGTHS, query_expansion={"strategy": "min", "length": 9, "token": "nowhere"}),
        "up with 'nowhere', which the vocabulary",
    ),
]
STANFORD: list[tuple[Callable[[Path], Any], str]] = [
    (lambda folder: without(folder, "linear.weight"), "have no projection"),
    (wide_stanford, "do not belong together"),
    (flat_stanford, "has the shape"),
    (lambda folder: (folder / "artifact.metadata").write_text(DEEP), "artifact.metadata"),
    (lambda folder: (folder / "artifact.metadata").write_text("[]"), "artifact.metadata"),
    (lambda folder: change(folder, "artifact.metadata", query_maxlen=400), "fills queries up to 400 tokens"),
]


@pytest.mark.parametrize(
    ("save", "spoil", "message"),
    [(save_pylate, *case) for case in PYLATE] + [(save_stanford, *case) for case in STANFORD],
    ids=[message for _, message in (*PYLATE, *STANFORD)],
)
def test_a_damaged_folder_is_refused_in_one_sentence(
    save: Callable[[Path], Path], spoil: Callable[[Path], Any], message: str, tmp_path: Path
) -> None:
    folder = save(tmp_path / "tiny")
    spoil(folder)
    with pytest.raises(BertvizError) as error:
        compared(folder)
    assert message in str(error.value)
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


def test_models_of_images_are_refused(tmp_path: Path) -> None:
    folder = save_multi_vector("bert", tmp_path / "tiny")
    change(folder, "2_MultiVectorMask/config.json", keep_only_token_ids=[4])
    with pytest.raises(BertvizError, match="keep_only_token_ids"):
        compared(folder)


def test_values_that_are_no_numbers_of_tokens_are_left_out(tmp_path: Path) -> None:
    folder = save_stanford(tmp_path / "tiny", doc_maxlen="many", query_token_id=5, query_maxlen=EXPANDED)
    plan = interaction_plan(folder_source("tiny", folder), SETTINGS)
    assert (plan.document.length, plan.query.marker) == (None, "[unused0] ")


WIDE = 10_000_000


@pytest.mark.parametrize("save", [save_pylate, save_stanford], ids=["PyLate", "Stanford"])
def test_a_projection_that_widens_every_token_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: Callable[[Path], Path]
) -> None:
    """The file is small where a file system stores no zeros."""
    folder = save(tmp_path / "tiny")
    path = folder / "1_Dense" / "model.safetensors" if save is save_pylate else folder / "model.safetensors"
    header = {"linear.weight": {"dtype": "F32", "shape": [WIDE, HIDDEN], "data_offsets": [0, 4 * WIDE * HIDDEN]}}
    raw = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(raw).to_bytes(8, "little") + raw)
        file.truncate(8 + len(raw) + 4 * WIDE * HIDDEN)

    def read(*_: object) -> bytes:
        raise AssertionError("the values are read")

    monkeypatch.setattr(late_interaction_modules, "number_pieces", read)
    monkeypatch.setattr(pooling, "read_file", read)
    with pytest.raises(BertvizError, match="makes vectors of 10,000,000 numbers; at most 65,536"):
        interaction_plan(folder_source("tiny", folder), SETTINGS)
