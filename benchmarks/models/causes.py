"""Interventions: every head of a model zeroed or set to its mean, in batches, against one run per head.

The weights are random, with the shapes of BERT base and of MiniLM: no time depends on their values.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.models.limit import layer_products, share
from benchmarks.models.predictions import MINILM, opened_head
from benchmarks.timing import Row, median_s, medians_s

if TYPE_CHECKING:
    from bertviz_core.interventions.results import MeanActivations
    from bertviz_core.interventions.targets.target import Target
    from bertviz_core.trace.tokenization import TextTokenizer

ROUNDS = 3


def rows() -> list[Row]:
    """Rows of the table for interventions."""
    return [*_base(), _minilm()]


def _base() -> list[Row]:
    """All heads of BERT base with 24 tokens, zero and mean, and single runs for the zeros."""
    import torch

    from bertviz_core.interventions.ablation_effects import ablation_effects
    from bertviz_core.interventions.gates import Gated, head_gates
    from bertviz_core.interventions.mean_activations import mean_activations
    from bertviz_core.interventions.runs import InterventionRuns
    from bertviz_core.trace.run import RUN_LOCK

    with tempfile.TemporaryDirectory() as folder:
        target, tokenizer = _target(Path(folder), 24)
        means, runs = mean_activations(target.loaded, tokenizer, ("the river bank",)), InterventionRuns(target)
        gates = head_gates([[place] for place in runs.places], runs.layers, max(runs.head_counts), "cpu")

        def head_by_head() -> None:
            with RUN_LOCK, torch.inference_mode():
                for row in range(len(gates)):
                    runs.run(Gated(gates.part(slice(row, row + 1))), target.tokens, 1)

        def in_batches(donor: "MeanActivations | None") -> None:
            for layer, count in enumerate(runs.head_counts):
                runs.effects(gates.part(slice(layer * count, (layer + 1) * count)), donor)

        def of_the_page() -> None:
            ablation_effects(target)
            ablation_effects(target, "mean", means)

        zero_s, loop_s = medians_s(lambda: in_batches(None), head_by_head, ROUNDS)
        mean_s, page_s = medians_s(lambda: in_batches(means), of_the_page, ROUNDS)
        config, heads, layers = target.loaded.model.config, max(runs.head_counts), runs.layers
        later = layers * (layers + 1) // 2  # a head is switched off in its layer, and the layers after it are run
        products = layer_products(config.hidden_size, config.intermediate_size, heads * 24, 2 * later)
        least_s = median_s(products, ROUNDS)
    both, ratio = zero_s + mean_s, loop_s / zero_s
    work, page = "all 144 heads of BERT-base shape, 24 tokens", f"{page_s:.2f} s with 12 blocks and 12 layers, too"
    return [
        Row(f"{work}: zero and mean", f"{both:.2f} s", f"{share(both, least_s)}; {page}", "<= 3.5 s", both <= 3.5),
        Row(f"{work}: zero", f"{zero_s:.2f} s", f"{loop_s:.2f} s head by head: {ratio:.1f}x", ">= 2x", ratio >= 2),
    ]


def _minilm() -> Row:
    """All heads of MiniLM with 128 tokens."""
    from bertviz_core.interventions.ablation_effects import ablation_effects

    with tempfile.TemporaryDirectory() as folder:
        target, _ = _target(Path(folder), 128, **MINILM)
        seconds, _ = medians_s(lambda: ablation_effects(target), lambda: None, ROUNDS)
    return Row("all 72 heads of MiniLM shape, 128 tokens: zero", f"{seconds:.2f} s", "", "<= 2 s", seconds <= 2)


def _target(folder: Path, tokens: int, **sizes: int) -> "tuple[Target, TextTokenizer]":
    """The cosine of a text with this many tokens and a short one."""
    from bertviz_core.interventions.targets.target import cosine_target
    from bertviz_core.sentences.results import SentencePlan

    head, tokenizer = opened_head(folder, "BertForMaskedLM", **sizes)
    text = " ".join(["river"] * (tokens - 2))
    target = cosine_target(head.base, tokenizer, text, "the bank", SentencePlan("mean"))
    if len(target.tokens) != tokens:
        raise ValueError(f"{len(target.tokens)} tokens")
    return target, tokenizer
