"""Interventions: every head of a model zeroed or set to its mean, in batches, against one run per head.

The weights are random, with the shapes of BERT base and of MiniLM: no time depends on their values.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.device import finished, layer_products, share
from benchmarks.models.predictions import MINILM, opened_head
from benchmarks.timing import Row, duration, median_s, medians_s

if TYPE_CHECKING:
    from bertviz_core.interventions.results import MeanActivations
    from bertviz_core.interventions.targets import Target
    from bertviz_core.trace.tokenization import TextTokenizer

ROUNDS = 3
TOKENS = 24
"""Tokens of the text for BERT base."""


def rows() -> list[Row]:
    """Rows of the table for interventions."""
    return [*base_rows(), _minilm()]


def base_rows(device: str = "cpu") -> list[Row]:
    """All heads of BERT base with 24 tokens, zero and mean, and single runs for the zeros, on a device."""
    import torch

    from bertviz_core.interventions.ablation import ablation_effects
    from bertviz_core.interventions.hooks import Gated, head_gates, mean_activations
    from bertviz_core.interventions.runs import InterventionRuns
    from bertviz_core.trace.run import RUN_LOCK

    with tempfile.TemporaryDirectory() as folder:
        target, tokenizer = opened_target(Path(folder), TOKENS, device)
        means, runs = mean_activations(target.loaded, tokenizer, ("the river bank",)), InterventionRuns(target)
        gates = head_gates([[place] for place in runs.places], runs.layers, max(runs.head_counts), device)

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

        zero_s, loop_s = medians_s(finished(lambda: in_batches(None), device), finished(head_by_head, device), ROUNDS)
        mean_s, page_s = medians_s(finished(lambda: in_batches(means), device), finished(of_the_page, device), ROUNDS)
        config, heads, layers = target.loaded.model.config, max(runs.head_counts), runs.layers
        later = layers * (layers + 1) // 2  # a head is switched off in its layer, and the layers after it are run
        products = layer_products(config.hidden_size, config.intermediate_size, heads * TOKENS, 2 * later, device)
        least_s = median_s(finished(products, device), ROUNDS)
    both, ratio = zero_s + mean_s, loop_s / zero_s
    work = f"all 144 heads of BERT-base shape, {TOKENS} tokens"
    page = f"{duration(page_s)} with 12 blocks and 12 layers, too"
    singly = f"{duration(loop_s)} head by head: {ratio:.1f}x"
    return [
        Row(f"{work}: zero and mean", duration(both), f"{share(both, least_s)}; {page}", "<= 3.5 s", both <= 3.5),
        Row(f"{work}: zero", duration(zero_s), singly, ">= 2x", ratio >= 2),
    ]


def _minilm() -> Row:
    """All heads of MiniLM with 128 tokens."""
    from bertviz_core.interventions.ablation import ablation_effects

    with tempfile.TemporaryDirectory() as folder:
        target, _ = opened_target(Path(folder), 128, "cpu", **MINILM)
        seconds, _ = medians_s(lambda: ablation_effects(target), lambda: None, ROUNDS)
    return Row("all 72 heads of MiniLM shape, 128 tokens: zero", f"{seconds:.2f} s", "", "<= 2 s", seconds <= 2)


def opened_target(folder: Path, tokens: int, device: str, **sizes: int) -> "tuple[Target, TextTokenizer]":
    """The cosine of a text with this many tokens and a short one."""
    from bertviz_core.interventions.targets import cosine_target
    from bertviz_core.sentences.results import SentencePlan

    head, tokenizer = opened_head(folder, "BertForMaskedLM", device, **sizes)
    text = " ".join(["river"] * (tokens - 2))
    target = cosine_target(head.base, tokenizer, text, "the bank", SentencePlan("mean"))
    if len(target.tokens) != tokens:
        raise ValueError(f"{len(target.tokens)} tokens")
    return target, tokenizer
