"""The command that prints what each word of a text adds to one number of a model."""

from typing import Annotated, Any, TypeVar

import typer

from bertviz_core.causes.requests import open_target
from bertviz_core.causes.targets import Target
from bertviz_core.causes.words.gradients import GRADIENT_METHODS
from bertviz_core.causes.words.leave_one_out import leave_one_out
from bertviz_core.causes.words.results import METHODS, REPLACEMENTS, Replacement, ShareMethod, WordShares
from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.cli.predictions.causes import MeasureOption, TargetOption
from bertviz_core.cli.text import PairOption, TextArgument
from bertviz_core.errors import TextError
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.text import decimals, escape_controls, measured
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer

MethodOption = Annotated[str, typer.Option("--method", help=f"How: {', '.join(METHODS)}.")]
InsteadOption = Annotated[
    str, typer.Option("--instead", help=f"What leave-one-out does to a word: {', '.join(REPLACEMENTS)}.")
]
TokensOption = Annotated[bool, typer.Option("--tokens", help="Each token for itself, not whole words.")]
Choice = TypeVar("Choice", bound=str)


@app.command()
def words(
    model: ModelArgument,
    text: TextArgument,
    pair: PairOption = None,
    target: TargetOption = None,
    measure: MeasureOption = "logit",
    method: MethodOption = "leave-one-out",
    instead: InsteadOption = "mask",
    single_tokens: TokensOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print what each word of a text adds to a number of the model."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    asked, settings = share_method(method, instead), Settings.from_environment(any_folder=True)
    source = resolve(model, settings)
    number = open_target(source, settings, text, pair, target, measure)
    tokenizer = load_tokenizer(source, settings)
    shares = word_shares(number, tokenizer, asked, not single_tokens, settings.max_gradient_bytes)
    print_notices(shares.notices)
    if as_json:
        return print_json(shares_json(shares))
    return print_lines(shares_lines(shares))


def share_method(method: str, instead: str) -> tuple[ShareMethod, Replacement]:
    """A method and what it does to a word, by their names.

    Raises:
        TextError: there is none of this name.
    """
    return _known("--method", method, METHODS), _known("--instead", instead, REPLACEMENTS)


def word_shares(
    target: Target, tokenizer: TextTokenizer, asked: tuple[ShareMethod, Replacement], whole_words: bool, limit: int
) -> WordShares:
    """What each word, or each token, adds to a target; `limit` is bytes that a run with gradients may take.

    Raises:
        TextError: as the method.
    """
    method, instead = asked
    if method == "leave-one-out":
        return leave_one_out(target, tokenizer, whole_words, instead)
    return GRADIENT_METHODS[method](target, tokenizer, whole_words, None, limit)


def shares_json(shares: WordShares) -> dict[str, Any]:
    """Shares as the JSON object of the `words` command."""
    return {
        "model": shares.model,
        "target": shares.target,
        "title": shares.title,
        "unit": shares.unit,
        "method": shares.method,
        "instead": shares.instead,
        "clean": shares.clean,
        "reference": shares.reference,
        "tokens": shares.words,
        "positions": shares.positions,
        "shares": shares.shares,
        "error": shares.error,
        "share_errors": shares.share_errors,
        "runs": shares.runs,
    }


def _known(option: str, name: str, choices: tuple[Choice, ...]) -> Choice:
    known = next((each for each in choices if each == name), None)
    if known is None:
        raise TextError(f"There is no {option} {escape_controls(name[:30])!r}; choose {', '.join(choices)}.")
    return known


def shares_lines(shares: WordShares) -> list[str]:
    """What was done, and a row for each word, in the order of the text."""
    first = (
        f"{shares.model}: {shares.title} = {measured(shares.clean, shares.unit)}; with {shares.instead} in the place "
        f"of all words {decimals(shares.reference)}"
    )
    if shares.method != "leave-one-out":
        first += f"; the sum of the shares misses the difference by {shares.error:.2g}"
    if shares.method == "integrated-gradients":
        first += f", and no share changed by more than {float(shares.share_errors.max()):.2g} in the last doubling"
    rows = [
        [" ".join(map(str, positions)), printable_token(word), decimals(float(share))]
        for positions, word, share in zip(shares.positions, shares.words, shares.shares, strict=True)
    ]
    return [first, "", *table([["tokens", "word", "share"], *rows], "llr")]
