"""Multiply-adds equal PyTorch's own count, memory equals what a real run keeps, windows equal the mask's cells.

Covers `bertviz_core/architecture/activation_memory.py`.
"""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers.masking_utils import sliding_window_bidirectional_overlay

from bertviz_core.architecture.activation_memory import activation_memory
from bertviz_core.architecture.facts.derive import model_facts
from bertviz_core.architecture.multiply_adds import (
    counted,
    counted_run,
    crossover,
    multiply_adds,
    operation_terms,
    terms_of,
    visible_pairs,
    windows,
)
from bertviz_core.architecture.structure.results import Window
from bertviz_core.models.catalog import find
from tests.helpers.dry_models import dry_tiny, eager_tiny
from tests.helpers.tiny_models import FAMILIES, tiny_config

OF_ITS_OWN = frozenset(
    "canine convbert deberta deberta-v2 funnel lilt longformer mra nystromformer xlnet".split()  # noqa: SIM905  # a list of words
)
"""Families whose attention multiplies other matrices too, or other counts of rows: distances, blocks, landmarks."""


def ids(seq: int, batch: int = 1) -> torch.Tensor:
    return torch.full((batch, seq), 9)


def by_pytorch(model_type: str, seq: int) -> int:
    """Multiply-adds of a real run by PyTorch's FlopCounterMode; two operations each."""
    model = eager_tiny(model_type)
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids(seq), attention_mask=torch.ones_like(ids(seq)))
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("model_type", FAMILIES)
@pytest.mark.sample(12)
def test_counts_without_weights_equal_flop_counter_mode_on_a_real_run(model_type: str) -> None:
    dry = dry_tiny(model_type, encoder=True)
    found = counted_run(dry, 11)
    assert found == by_pytorch(model_type, 11)
    terms = terms_of(dry)
    costs = multiply_adds(terms, [11])
    formula = costs.total - costs.attention + costs.every_pair
    assert (formula[0] == found) == (model_type not in OF_ITS_OWN)
    assert bool(terms.left_out) == (model_type in OF_ITS_OWN), "what the formula leaves out is named"


@pytest.mark.parametrize("model_type", ["bert", "modernbert", "eurobert"])
def test_the_formula_holds_at_every_length(model_type: str) -> None:
    config, lengths = tiny_config(model_type).to_dict(), (1, 2, 5, 28)
    costs = multiply_adds(operation_terms(model_type, config), lengths)
    found = dict(zip(lengths, (costs.total - costs.attention + costs.every_pair).tolist(), strict=True))
    assert found == counted(model_type, config, lengths) == {seq: by_pytorch(model_type, seq) for seq in lengths}


def test_terms_of_bert_base_are_those_of_its_sizes() -> None:
    entry = find("bert-base-uncased")
    assert entry is not None
    terms = operation_terms("bert-base-uncased", entry.config)
    assert terms.projections == 12 * 4 * 768 * 768
    assert terms.feed_forward == 12 * 2 * 768 * 3_072
    assert terms.per_text == 768 * 768
    assert terms.other == 0
    assert [each.width for each in terms.attention] == [2 * 768] * 12
    # 2 * 12 * 768 * n * n = 2 * 12 * 768 * 3072 * n at n = 3072; with the projections at n = 4 * 768 / 2.
    assert crossover(terms).tokens == 3_072
    assert crossover(terms, "projections").tokens == 1_536
    at = multiply_adds(terms, [3_071, 3_072])
    assert at.attention[0] < at.feed_forward[0]
    assert at.attention[1] == at.feed_forward[1]


def test_maps_that_also_meet_distances_count_once_for_every_token() -> None:
    config = tiny_config("deberta-v2", share_att_key=True, position_buckets=4).to_dict()
    terms = operation_terms("deberta-v2", config)
    assert terms.projections == 3 * 4 * 12 * 12
    assert [(each.width, each.applications) for each in terms.attention] == [(24, 1)] * 3
    assert {path.rpartition(".")[2] for path in terms.left_out} == {
        "query_proj",
        "key_proj",
        "self (DisentangledSelfAttention)",
    }


def test_an_encoder_that_was_saved_alone_costs_what_it_costs_beside_its_decoder() -> None:
    both = tiny_config("t5").to_dict()
    alone = {**both, "is_encoder_decoder": False, "architectures": ["T5EncoderModel"]}
    assert counted("alone", alone, (8, 16)) == counted("both", both, (8, 16))
    assert operation_terms("t5", alone) == operation_terms("t5", both)


def test_a_model_without_attention_has_no_crossing() -> None:
    assert crossover(operation_terms("fnet", tiny_config("fnet").to_dict())).tokens is None


@pytest.mark.parametrize("window", [1, 2, 5, 40])
@pytest.mark.parametrize("seq", [1, 2, 7, 23])
def test_pairs_in_a_window_are_the_cells_of_transformers_mask(window: int, seq: int) -> None:
    seen = sliding_window_bidirectional_overlay(window)
    cells = sum(bool(seen(0, 0, row, column)) for row in range(seq) for column in range(seq))
    assert visible_pairs(seq, Window(window, window)) == cells
    assert visible_pairs(seq, None) == visible_pairs(seq, Window(None, 0)) == seq * seq
    causal = sum(0 <= row - column <= window for row in range(seq) for column in range(seq))
    assert visible_pairs(seq, Window(window, 0)) == causal


def test_modernbert_saves_what_its_windows_hide() -> None:
    config = tiny_config("modernbert", num_hidden_layers=5).to_dict()
    local = Window(2, 2)
    assert windows(model_facts("modernbert", config)) == (None, local, None, local, None)
    costs = multiply_adds(operation_terms("modernbert", config), [20])
    hidden = 20 * 20 - (20 + 2 * (2 * 20 - 3))
    assert costs.every_pair[0] - costs.attention[0] == 2 * hidden * (2 * 12)


def saved_by_a_real_run(model_type: str, batch: int, seq: int) -> int:
    model = eager_tiny(model_type)
    before = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    inputs = ids(seq, batch)
    mask = torch.ones_like(inputs)
    before |= {inputs.untyped_storage().data_ptr(), mask.untyped_storage().data_ptr()}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in before:
            kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = model(input_ids=inputs)
    assert output is not None
    return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize("model_type", ["bert", "modernbert", "t5"])
def test_training_memory_is_what_a_real_run_keeps(model_type: str) -> None:
    memory = activation_memory(model_type, tiny_config(model_type).to_dict(), "training", (1, 2, 5, 7), (13,))
    for row, batch in enumerate(memory.batches):
        for column, seq in enumerate(memory.lengths):
            assert memory.nbytes[row, column] == saved_by_a_real_run(model_type, batch, seq)


def peak_by_the_profiler(model_type: str, batch: int, seq: int) -> int:
    """Highest sum of what PyTorch's allocator gave out and took back, as its profiler logs it."""
    from torch.profiler import ProfilerActivity, profile

    model, inputs = eager_tiny(model_type), ids(seq, batch)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as log, torch.no_grad():
        model(input_ids=inputs)
    held = np.cumsum([each.nbytes() for each in log.profiler.kineto_results.events() if each.name() == "[memory]"])
    return int(held.max())


@pytest.mark.parametrize(("batch", "seq"), [(1, 4), (2, 13), (7, 13)])
def test_inference_memory_is_the_allocators_peak(batch: int, seq: int) -> None:
    memory = activation_memory("bert", tiny_config("bert").to_dict(), "inference", (1, 2, 3, 7), (4, 13))
    found = memory.nbytes[memory.batches.index(batch), memory.lengths.index(seq)]
    assert found == peak_by_the_profiler("bert", batch, seq)


def test_memory_grows_with_batch_and_length() -> None:
    memory = activation_memory("bert", tiny_config("bert").to_dict(), "inference", (1, 5), (3, 27))
    assert (np.diff(memory.nbytes, axis=0) > 0).all()
    assert (np.diff(memory.nbytes, axis=1) > 0).all()
