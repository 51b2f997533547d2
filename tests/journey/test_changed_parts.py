"""The opened parts of a changed run equal those of runs of transformers' own class that are changed here by hand.

Covers `bertviz_core/questions/interventions/effects.py`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from transformers import BertModel

from bertviz_core.journey.results import HeadOpening, LayerOpening
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.interventions.effects import means_in_place
from bertviz_core.questions.interventions.journey_change import changed_model, drawn_change
from bertviz_core.questions.opened import Opened, OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import SILENT
from bertviz_core.questions.texts.journey import all_openings, embeddings, head_opening, layer_opening, next_openings
from bertviz_core.settings import Settings
from tests.journey.test_changes import _bypassed

TEXT, TOKEN, SIZE = "I love my pet python.", 5, 32
MEAN = {"removed_for": "its mean"}


class Run(NamedTuple):
    """Attention of every layer, and what enters and leaves modules of one."""

    attentions: Any
    added: Any
    query: Any
    key: Any
    activations: Any
    feed_forward: Any


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return OpenedModel("all-MiniLM-L6-v2", Settings.from_environment())


@pytest.fixture(scope="module")
def own() -> BertModel:
    """Transformers' own class with its own attention."""
    return BertModel.from_pretrained(bundled_folder(), attn_implementation="eager").eval()


def _changed(opened: OpenedModel, change: str, **more: str) -> Opened:
    drawn = drawn_change(opened, Options((TEXT,), values={"change": change, **more}))
    return changed_model(opened, Options((TEXT,)), drawn)


def _run(own: BertModel, ids: Any, layer: int) -> Run:
    heard: dict[str, Any] = {}
    attention = own.encoder.layer[layer].attention
    modules = {"added": attention.output.dense, "query": attention.self.query, "key": attention.self.key}
    modules |= {
        "activations": own.encoder.layer[layer].intermediate,
        "feed_forward": own.encoder.layer[layer].output.dense,
    }

    def hearing(name: str) -> Any:
        def hear(_module: Any, _inputs: Any, output: Any) -> None:
            heard[name] = output[0].numpy()

        return hear

    with ExitStack() as hooks, torch.inference_mode():
        for name, module in modules.items():
            hooks.callback(module.register_forward_hook(hearing(name)).remove)
        maps = own(torch.tensor(np.array(ids))[None], output_attentions=True).attentions
    return Run([each[0].numpy() for each in maps], *(heard[name] for name in modules))


@contextmanager
def _replaced(own: BertModel, layer: int, head: int, by: Any = 0) -> Iterator[None]:
    """Replace the output of a head before the output projection."""

    def replace(_module: Any, inputs: Any) -> Any:
        mixed = inputs[0].clone()
        mixed[..., head * SIZE : (head + 1) * SIZE] = by
        return (mixed,)

    hook = own.encoder.layer[layer].attention.output.dense.register_forward_pre_hook(replace)
    try:
        yield
    finally:
        hook.remove()


def _compare(changed: Opened, run: Run, layer: int, head: int) -> None:
    """Compare an opened layer, a head in it, and what may be opened next."""
    values = {"layer": str(layer), "query": str(TOKEN)}
    part = layer_opening(changed, Options((TEXT,), values=values)).result
    assert part.thumbnails == pytest.approx(run.attentions[layer], abs=1e-5)
    assert part.rows == pytest.approx(run.attentions[layer][:, TOKEN], abs=1e-5)
    assert part.attention_output == pytest.approx(run.added[TOKEN], abs=1e-4)
    assert part.activations == pytest.approx(run.activations[TOKEN], abs=1e-4)
    assert part.feed_forward == pytest.approx(run.feed_forward[TOKEN], abs=1e-4)
    place = {**values, "head": str(head), "key": "2"}
    alone = head_opening(changed, Options((TEXT,), values=place)).result
    following = next_openings(changed, Options((TEXT,), values=values)).result[head]
    columns = slice(head * SIZE, (head + 1) * SIZE)
    for each in (alone, following):
        score, key = each.cell.score, each.cell.key_position
        assert score.products == pytest.approx(run.query[TOKEN, columns] * run.key[key, columns], abs=1e-4)
        assert score.model_weights == pytest.approx(run.attentions[layer][head, TOKEN], abs=1e-5)


@pytest.mark.slow
def test_parts_of_a_masked_text_are_those_of_its_ids(opened: OpenedModel, own: BertModel) -> None:
    changed, ids = _changed(opened, "mask-4"), opened.tokens(TEXT, None).input_ids.copy()
    ids[4] = opened.tokenizer.tokenizer.mask_token_id
    for layer in (0, 5):
        _compare(changed, _run(own, ids, layer), layer, 3)
    word = embeddings(changed, Options((TEXT,), values={"query": "4"})).result.parts["word"]
    assert word == pytest.approx(own.embeddings.word_embeddings.weight[ids[4]].detach().numpy())


@pytest.mark.slow
@pytest.mark.parametrize("mean", [False, True])
def test_parts_without_a_head_are_those_of_the_model_without_it(
    mean: bool, opened: OpenedModel, own: BertModel
) -> None:
    changed, ids = _changed(opened, "head-1.5", **(MEAN if mean else {})), opened.tokens(TEXT, None).input_ids
    means = means_in_place(opened, Options(values=MEAN), SILENT)
    assert means is not None
    plain = _run(own, ids, 4)
    with _replaced(own, 1, 5, torch.tensor(means.heads[1][5]) if mean else 0):
        for layer in (0, 1, 4):
            _compare(changed, _run(own, ids, layer), layer, 3)
        assert np.abs(plain.attentions[4] - _run(own, ids, 4).attentions[4]).max() > 1e-3


def test_parts_without_a_layer_are_those_of_the_model_without_it(opened: OpenedModel, own: BertModel) -> None:
    changed, ids = _changed(opened, "layer-2"), opened.tokens(TEXT, None).input_ids
    with _bypassed(own.encoder.layer[2]):
        for layer in (1, 3, 5):
            _compare(changed, _run(own, ids, layer), layer, 3)


@pytest.mark.slow
def test_a_model_is_the_same_after_a_change_and_each_change_is_cached_apart(opened: OpenedModel) -> None:
    options = Options((TEXT,), values={"layer": "4", "query": str(TOKEN)})
    plain = layer_opening(opened, options).result.rows
    rows = [layer_opening(_changed(opened, each), options).result.rows for each in ("head-1.5", "head-1.6", "layer-1")]
    assert len({each.tobytes() for each in (plain, *rows)}) == 4
    fresh = OpenedModel("all-MiniLM-L6-v2", Settings.from_environment())
    np.testing.assert_array_equal(layer_opening(fresh, options).result.rows, plain)
    assert opened.loaded.intervention is None


def test_an_edited_text_is_another_text_of_the_same_model(opened: OpenedModel) -> None:
    assert _changed(opened, "text", edited="I love my cat.") is opened
    assert changed_model(opened, Options((TEXT,)), None) is opened


@pytest.mark.slow
def test_a_file_has_the_parts_of_the_changed_run(opened: OpenedModel) -> None:
    changed = _changed(opened, "head-1.5")
    parts = all_openings(changed, Options((TEXT,)), TOKEN)
    assert len(parts) == 1 + 6 + 6 * 12
    options = {"layer": "4", "query": str(TOKEN)}
    alone = layer_opening(changed, Options((TEXT,), values=options)).result
    (layer,) = (each for each in parts if isinstance(each, LayerOpening) and each.layer == 4)
    np.testing.assert_array_equal(layer.rows, alone.rows)
    assert sum(isinstance(each, HeadOpening) for each in parts) == 72
