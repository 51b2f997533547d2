"""The command that prints which words make two texts alike."""

from typing import Annotated

import typer

from bertviz_core.causes.words.pairs import pair_ledger
from bertviz_core.causes.words.results import PairLedger
from bertviz_core.cli.options import JsonOption, ModelArgument, app, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.text import decimals
from bertviz_core.trace.tokenization import load_tokenizer

FirstArgument = Annotated[str, typer.Argument(metavar="TEXT1", help="One text.", callback=typed_text)]
SecondArgument = Annotated[str, typer.Argument(metavar="TEXT2", help="The other.", callback=typed_text)]
FromLayerOption = Annotated[
    int, typer.Option("--from-layer", metavar="L", help="Entry of the hidden states at which tokens are told apart.")
]


@app.command("word-pairs")
def word_pairs(
    model: ModelArgument,
    text: FirstArgument,
    pair: SecondArgument,
    from_layer: FromLayerOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Print what every pair of tokens adds to the cosine of two texts."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    settings = Settings.from_environment(any_folder=True)
    source = resolve(model, settings)
    tokenizer, loaded = load_tokenizer(source, settings), load_model(source, settings)
    plan = recommended(source, settings)
    ledger = pair_ledger(loaded, tokenizer, text, pair, plan, from_layer, None, settings.max_batch_bytes)
    print_notices(ledger.notices)
    if as_json:
        return print_json(
            {
                "model": ledger.model,
                "layer": ledger.layer,
                "rows": ledger.first.tokens,
                "columns": ledger.second.tokens,
                "shares": ledger.shares,
                "reference_terms": ledger.reference_terms,
                "references": {
                    "first": ledger.first_reference,
                    "second": ledger.second_reference,
                    "both": ledger.both_references,
                },
                "cosine": ledger.cosine,
                "error": ledger.error,
                "share_errors": ledger.share_errors,
                "nodes": ledger.nodes,
            }
        )
    return print_lines(_lines(ledger))


def _lines(ledger: PairLedger) -> list[str]:
    """The sum, and a row for each token of the first text."""
    total = float(ledger.shares.sum())
    first = (
        f"{ledger.model}, from layer {ledger.layer}: cosine {decimals(ledger.cosine)} = pairs {decimals(total)} + "
        f"reference terms {decimals(ledger.reference_terms)}, up to {ledger.error:.1g}; no pair changed by more than "
        f"{float(ledger.share_errors.max()):.1g} in the last doubling of the {ledger.nodes} nodes"
    )
    heading = ["", *map(printable_token, ledger.second.tokens)]
    rows = [
        [printable_token(token), *(decimals(share, 3) for share in row)]
        for token, row in zip(ledger.first.tokens, ledger.shares.tolist(), strict=True)
    ]
    return [first, "", *table([heading, *rows], "l" + "r" * len(ledger.second))]
