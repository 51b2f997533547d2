"""Word attributions of the bundled model: leave-one-out, integrated gradients against Captum's, pairs of words."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.device import layer_products, share
from benchmarks.timing import Row, median_s, medians_s

if TYPE_CHECKING:
    from bertviz_core.interventions.targets import Target
    from bertviz_core.trace.tokenization import TextTokenizer

ROUNDS, TOGETHER = 3, 16
CAPTUM_STEPS = 50
"""Captum's default number of nodes."""
WORDS = "the bank raised its interest rates because a river had left its bed and many small houses by the water"
TEXT, PAIR = "The bank raised its interest rates again this spring.", "We sat on the bank of the quiet river all day."


def rows() -> list[Row]:
    """Rows of the table for word attributions."""
    from bertviz_core.interventions.target_parsing import open_target
    from bertviz_core.models.sources import resolve
    from bertviz_core.settings import DEFAULT_MODEL, Settings
    from bertviz_core.trace.tokenization import load_tokenizer

    settings = Settings.from_environment()
    source = resolve(DEFAULT_MODEL, settings)
    words = (WORDS.split() * 8)[:128]
    long, short = (open_target(source, settings, text, PAIR) for text in (" ".join(words), TEXT))
    tokenizer = load_tokenizer(source, settings)
    return [_left_out(long, tokenizer), *_gradients(short, tokenizer), _pairs(short, tokenizer)]


def _left_out(target: "Target", tokenizer: "TextTokenizer") -> Row:
    """Each of 128 words left out, against one run per word."""
    from bertviz_core.attribution.words import leave_one_out

    result = leave_one_out(target, tokenizer)
    if len(result.words) != 128:
        raise ValueError(f"{len(result.words)} words")
    texts, layers = len(result.words) // TOGETHER, target.loaded.num_hidden_layers
    config = target.loaded.model.config
    products = layer_products(
        config.hidden_size, config.intermediate_size, TOGETHER * len(target.tokens), texts * layers
    )
    seconds, least_s = medians_s(partial(leave_one_out, target, tokenizer), products, ROUNDS)
    return Row(
        "leave-one-out of 128 words, MiniLM", f"{seconds:.2f} s", share(seconds, least_s), "<= 1.5 s", seconds <= 1.5
    )


def _gradients(target: "Target", tokenizer: "TextTokenizer") -> list[Row]:
    """Nodes and time of integrated gradients for an error of a thousandth, and of Captum with its default nodes."""
    import torch
    from captum.attr import IntegratedGradients

    from bertviz_core.attribution.gradients import integrated_gradients
    from bertviz_core.trace.run import RUN_LOCK

    ours = integrated_gradients(target, tokenizer)
    table = target.loaded.model.get_input_embeddings()
    ids = torch.tensor(target.tokens.input_ids[None])
    masked = torch.where(torch.tensor(target.tokens.special)[None], ids, tokenizer.tokenizer.mask_token_id)
    end, start = table(ids).detach(), table(masked).detach()

    def value(embeddings: "torch.Tensor") -> "torch.Tensor":
        inputs = target.inputs((target.tokens,) * len(embeddings))
        del inputs["input_ids"]
        return target.values({**inputs, "inputs_embeds": embeddings}, [len(target.tokens)] * len(embeddings))

    def captums() -> float:
        with RUN_LOCK:
            _, missed = IntegratedGradients(value).attribute(end, start, return_convergence_delta=True)
        return float(missed)

    missed = abs(captums()) / abs(ours.clean - ours.reference)
    seconds, peer = medians_s(partial(integrated_gradients, target, tokenizer), captums, ROUNDS)
    share = ours.error / abs(ours.clean - ours.reference)
    work = f"integrated gradients, {len(target.tokens)} tokens, MiniLM"
    other = f"Captum {CAPTUM_STEPS + 2} rows, error {missed:.1e}"
    fewer = ours.runs < CAPTUM_STEPS + 2 and share <= 1e-3
    return [
        Row(f"{work}: rows run", f"{ours.runs} rows, error {share:.1e}", other, "fewer, error <= 1e-3", bool(fewer)),
        Row(f"{work}: time", f"{seconds:.2f} s", f"Captum {peer:.2f} s", "", bool(np.isfinite(seconds))),
    ]


def _pairs(target: "Target", tokenizer: "TextTokenizer") -> Row:
    """The pairs of two texts of twelve tokens from layer 3 on."""
    from bertviz_core.attribution.pair_attributions import pair_attributions
    from bertviz_core.models.sources import resolve
    from bertviz_core.sentences.plan import recommended
    from bertviz_core.settings import DEFAULT_MODEL, Settings

    settings = Settings.from_environment()
    plan = recommended(resolve(DEFAULT_MODEL, settings), settings)
    ledger = pair_attributions(target.loaded, tokenizer, TEXT, PAIR, plan, 3)
    sizes = f"{len(ledger.first)} and {len(ledger.second)} tokens"
    seconds = median_s(lambda: pair_attributions(target.loaded, tokenizer, TEXT, PAIR, plan, 3), ROUNDS)
    work = f"pairs of words of {sizes} from layer 3, MiniLM, error {ledger.error:.1e}"
    return Row(work, f"{seconds:.2f} s", "", "<= 1.5 s", seconds <= 1.5)
