"""Multiply-adds equal PyTorch's own count of the same class, heads included; windows equal the mask's cells.

Covers `bertviz_core/architecture/cost/*.py`.
"""

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers.masking_utils import sliding_window_bidirectional_overlay

from bertviz_core.architecture.cost import (
    accounts_for,
    activation_memory,
    counted,
    crossover,
    multiply_adds,
    operation_terms,
    terms_of,
    visible_pairs,
    windows,
)
from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.dry_run import dry_model, runnable_task
from bertviz_core.architecture.results import Crossover, Growth, Window
from bertviz_core.models.catalog import find
from bertviz_core.models.skeleton import TASK_CLASSES
from tests.helpers.dry_models import dry_tiny, eager, eager_tiny
from tests.helpers.tiny_heads import families_with
from tests.helpers.tiny_models import FAMILIES, tiny_config

NO_FORMULA = frozenset({"big_bird", "canine", "funnel", "longformer"})
"""Families that work in blocks or on pooled tokens, so that their cost is not a parabola in the length."""
TASKS = ("base", "masked-lm", "sequence-classification", "token-classification", "question-answering", "pretraining")
NOT_ON_A_TEXT_ALONE = {("longformer", "question-answering"), ("splinter", "pretraining")}
"""Classes that need separators, or question tokens, in the text."""
LENGTHS = (11, 24)
END = 3
"""The end of a text in the tiny vocabulary."""


def ids(seq: int, batch: int = 1) -> torch.Tensor:
    return torch.full((batch, seq), 9)


def by_pytorch(model: Any, seq: int) -> int:
    """Multiply-adds of a real run by PyTorch's FlopCounterMode, which counts two operations each."""
    text, decoder = ids(seq), {}
    name, writes = type(model).__name__, model.config.is_encoder_decoder
    if writes and name.endswith("ForSequenceClassification"):
        text[0, -1] = END
    elif writes and not name.endswith(("ForQuestionAnswering", "ForTokenClassification")):
        decoder = {"decoder_input_ids": ids(1)}
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(input_ids=text, attention_mask=torch.ones_like(text), **decoder)
    return counter.get_total_flops() // 2


def whole_config(model_type: str) -> Any:
    """The tiny config, with the first token of a decoder that T5's checkpoints name."""
    return tiny_config(model_type, **({"decoder_start_token_id": 0} if model_type in ("mt5", "t5", "umt5") else {}))


def real(model_type: str, task: str) -> Any:
    """The class of a task with random weights and stepwise attention.

    Its weights need no gradient, since FlopCounterMode fails on a weight that DeBERTa passes to a module.
    """
    made: Any = getattr(transformers, TASK_CLASSES[task])
    return eager(made.from_config(whole_config(model_type)).eval().requires_grad_(False))


@pytest.mark.parametrize("model_type", FAMILIES)
@pytest.mark.slow
def test_every_class_of_a_family_costs_what_flop_counter_mode_counts_of_it(model_type: str) -> None:
    for task in TASKS:
        if model_type not in families_with(task) or (model_type, task) in NOT_ON_A_TEXT_ALONE:
            continue
        model = real(model_type, task)
        own = [
            by_pytorch(real(model_type, task), seq) for seq in LENGTHS
        ]  # a new model: BigBird remembers its implementation for short texts
        config = whole_config(model_type).to_dict()
        counts, terms = counted(model_type, config, LENGTHS, task), terms_of(dry_model(model_type, config, task))
        assert counts.whole.tolist() == own, task
        assert terms.model_class == type(model).__name__
        assert accounts_for(terms, counts) == (model_type not in NO_FORMULA), task
        if model_type not in NO_FORMULA:
            assert multiply_adds(terms, LENGTHS).whole.tolist() == own, task


@pytest.mark.parametrize(("model_type", "task"), sorted(NOT_ON_A_TEXT_ALONE))
def test_a_class_that_cannot_be_run_on_a_text_alone_is_counted_without_its_head(model_type: str, task: str) -> None:
    config = tiny_config(model_type).to_dict()
    assert runnable_task(model_type, config, task) == "base"
    assert runnable_task(model_type, config, "base") == "base"
    assert runnable_task("bert", tiny_config("bert").to_dict(), task) == task


@pytest.mark.slow
def test_a_head_without_a_pooler_costs_its_own_matrices_and_no_pooler() -> None:
    config = tiny_config("albert").to_dict()
    base, head = (operation_terms("albert", config, task) for task in ("base", "masked-lm"))
    assert head.model_class == "AlbertForMaskedLM"
    assert base.other.per_text == 12 * 12
    assert head.other == Growth(0, base.other.per_token + 12 * 10 + 10 * 37, 0)
    assert (head.projections, head.feed_forward, head.attention) == (
        base.projections,
        base.feed_forward,
        base.attention,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("model_type", ["bert", "modernbert", "eurobert"])
def test_the_formula_holds_at_every_length(model_type: str) -> None:
    config, lengths = tiny_config(model_type).to_dict(), (1, 2, 5, 28)
    whole = multiply_adds(operation_terms(model_type, config), lengths).whole.tolist()
    assert whole == [by_pytorch(eager_tiny(model_type), seq) for seq in lengths]


@pytest.mark.slow
def test_terms_of_bert_base_are_those_of_its_sizes() -> None:
    entry = find("bert-base-uncased")
    assert entry is not None
    terms = operation_terms("bert-base-uncased", entry.config)
    assert terms.projections == Growth(per_token=12 * 4 * 768 * 768)
    assert terms.feed_forward == Growth(per_token=12 * 2 * 768 * 3_072)
    assert terms.other == Growth(per_text=768 * 768)
    assert terms.attention == Growth(per_pair=12 * 2 * 768)
    assert [each.per_pair for each in terms.layers] == [2 * 768] * 12
    # 2 * 12 * 768 * n * n = 2 * 12 * 768 * 3072 * n at n = 3072; with 4 * 12 * 768 * 768 * n beside it at half of that.
    assert crossover(terms) == Crossover(3_072)
    assert crossover(terms, projections=True) == Crossover(1_536, projections=True)
    at = multiply_adds(terms, [1_535, 1_536, 3_071, 3_072])
    assert (at.attention >= at.feed_forward).tolist() == [False, False, False, True]
    assert (at.attention + at.projections >= at.feed_forward).tolist() == [False, True, True, True]


@pytest.mark.slow
def test_attention_whose_projections_outweigh_the_feed_forward_costs_more_at_every_length() -> None:
    terms = operation_terms("albert", tiny_config("albert").to_dict())
    assert crossover(terms, projections=True).tokens == 1
    assert crossover(terms).tokens == 14


@pytest.mark.slow
def test_distances_cost_as_many_products_as_there_are_distances() -> None:
    config = tiny_config("deberta-v2", share_att_key=True, position_buckets=4).to_dict()
    terms = operation_terms("deberta-v2", config)
    # The 2 * 4 distances pass the projections of query and key too; each query then meets the keys of all distances,
    # each key their queries.
    assert terms.projections == Growth(0, 3 * 4 * 12 * 12, 3 * 2 * (2 * 4) * 12 * 12)
    assert [each.per_pair for each in terms.layers] == [2 * 12] * 3
    assert terms.attention.per_token == 3 * 2 * (2 * 4) * 12
    assert terms.exact


@pytest.mark.slow
def test_an_encoder_that_was_saved_alone_costs_what_it_costs_beside_its_decoder() -> None:
    both = tiny_config("t5").to_dict()
    alone = {**both, "is_encoder_decoder": False, "architectures": ["T5EncoderModel"]}
    encoder, whole = operation_terms("t5", alone, "encoder"), operation_terms("t5", both)
    assert (encoder.model_class, encoder.decoder_tokens) == ("T5EncoderModel", 0)
    assert (whole.model_class, whole.decoder_tokens) == ("T5Model", 1)
    assert encoder.attention.per_pair == whole.attention.per_pair
    assert encoder.feed_forward.per_token == whole.feed_forward.per_token
    model = eager_tiny("t5").get_encoder()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(input_ids=ids(17))
    assert multiply_adds(encoder, [17]).whole.tolist() == [counter.get_total_flops() // 2]


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


@pytest.mark.slow
def test_modernbert_saves_what_its_windows_hide() -> None:
    config = tiny_config("modernbert", num_hidden_layers=5).to_dict()
    local = Window(2, 2)
    assert windows(model_facts("modernbert", config)) == (None, local, None, local, None)
    terms = operation_terms("modernbert", config)
    assert tuple(each.window for each in terms.layers) == (None, local, None, local, None)
    costs = multiply_adds(terms, [20])
    hidden = 20 * 20 - (20 + 2 * (2 * 20 - 3))
    assert costs.every_pair[0] - costs.attention[0] == 2 * hidden * (2 * 12)


def saved_by_a_real_run(model_type: str, batch: int, seq: int) -> int:
    model, masked = eager_tiny(model_type), dry_tiny(model_type).masked
    before = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    inputs = ids(seq, batch)
    mask = torch.ones_like(inputs)
    before |= {inputs.untyped_storage().data_ptr(), mask.untyped_storage().data_ptr()}
    storages: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in before:
            storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = model(input_ids=inputs, **({"attention_mask": mask} if masked else {}))
    assert output is not None
    return sum(storage.nbytes() for storage in storages.values())


@pytest.mark.parametrize("model_type", ["bert", "modernbert", "xlnet"])
def test_training_memory_is_what_a_real_run_keeps(model_type: str) -> None:
    memory = activation_memory(model_type, tiny_config(model_type).to_dict(), "training", (1, 2, 5, 7), (13,))
    for row, batch in enumerate(memory.batches):
        for column, seq in enumerate(memory.lengths):
            assert memory.nbytes[row, column] == saved_by_a_real_run(model_type, batch, seq)


def peak_by_the_profiler(model_type: str, batch: int, seq: int) -> int:
    """Peak of the memory allocated by PyTorch, from its profiler's log."""
    from torch.profiler import ProfilerActivity, profile

    model, inputs = eager_tiny(model_type), ids(seq, batch)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as log, torch.no_grad():
        model(input_ids=inputs)
    shares = np.cumsum([each.nbytes() for each in log.profiler.kineto_results.events() if each.name() == "[memory]"])
    return int(shares.max())


@pytest.mark.sample(2)
@pytest.mark.parametrize(("batch", "seq"), [(1, 4), (2, 13), (7, 13)])
def test_inference_memory_is_the_allocators_peak(batch: int, seq: int) -> None:
    memory = activation_memory("bert", tiny_config("bert").to_dict(), "inference", (1, 2, 3, 7), (4, 13))
    found = memory.nbytes[memory.batches.index(batch), memory.lengths.index(seq)]
    assert found == peak_by_the_profiler("bert", batch, seq)


def test_memory_grows_with_batch_and_length() -> None:
    memory = activation_memory("bert", tiny_config("bert").to_dict(), "inference", (1, 5), (3, 27))
    assert (np.diff(memory.nbytes, axis=0) > 0).all()
    assert (np.diff(memory.nbytes, axis=1) > 0).all()
