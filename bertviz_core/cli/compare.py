"""The command that compares two checkpoints: names, values, and on request what they do with a text."""

from typing import Annotated, Any

import typer

from bertviz_core.checkpoints.behaviour import behaviour, require_same_ids
from bertviz_core.checkpoints.comparison import compare_checkpoints
from bertviz_core.checkpoints.results import Behaviour, CheckpointComparison, TensorChange
from bertviz_core.checkpoints.values import open_checkpoint
from bertviz_core.cli.options import MODEL_HELP, JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices, table
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, shortened
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize

TEXT_HELP = "Run both models on this text too: cosines of hidden states, divergence of attention."
SHOWN = 30
LONGEST = 90


@app.command()
def compare(
    first: ModelArgument,
    second: Annotated[str, typer.Argument(metavar="OTHER", help=MODEL_HELP)],
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help=TEXT_HELP)] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two checkpoints: tensors added, removed, resized, and the relative change of each."""
    settings = Settings.from_environment(any_folder=True)
    sources = resolve(first, settings), resolve(second, settings)
    found = compare_checkpoints(open_checkpoint(sources[0], settings), open_checkpoint(sources[1], settings))
    acts = None if text is None else _behaviour(sources, text, settings)
    print_notices([f"Not read: {name}, whose format has no plain numbers." for name in found.unread])
    print_notices(acts.notices if acts else ())
    if as_json:
        print_json(compare_json(found, acts))
    else:
        print_lines(compare_lines(found, acts))


def compare_json(found: CheckpointComparison, acts: Behaviour | None) -> dict[str, Any]:
    """A comparison as the JSON object of the command; a change that is not finite is null."""
    value: dict[str, Any] = {
        "first": found.first,
        "second": found.second,
        "prefixes": found.prefixes,
        "added": [each.name for each in found.added],
        "removed": [each.name for each in found.removed],
        "resized": [{"name": each.name, "first": each.first, "second": each.second} for each in found.resized],
        "relative_change": found.relative_change,
        "tensors": [_row(each) for each in found.tensors],
        "unread": found.unread,
    }
    if acts is not None:
        value["behaviour"] = {
            "tokens": acts.tokens.tokens,
            "cosines": acts.cosines,
            "divergences": acts.divergences,
            "notices": acts.notices,
        }
    return value


def compare_lines(found: CheckpointComparison, acts: Behaviour | None) -> list[str]:
    """A comparison as tables, the tensors that changed most first."""
    ordered = sorted(found.tensors, key=lambda each: -each.relative_change)
    rows = [
        (_name(each.name), str(each.shape), f"{each.relative_change:.3e}", f"{each.largest_difference:.3e}")
        for each in ordered[:SHOWN]
    ]
    lines = [
        f"{found.first} -> {found.second}: {len(found.tensors):,} tensors in both, {len(found.added):,} added, "
        f"{len(found.removed):,} removed, {len(found.resized):,} resized",
        f"relative change of all that both hold: {found.relative_change:.3e}",
        "",
        *(f"added    {_name(each.name)} {each.shape}" for each in found.added),
        *(f"removed  {_name(each.name)} {each.shape}" for each in found.removed),
        *(f"resized  {_name(each.name)} {each.first} -> {each.second}" for each in found.resized),
        "",
        *table([("tensor", "shape", "relative change", "largest difference"), *rows], "llrr"),
    ]
    if len(ordered) > SHOWN:
        lines.append(f"... and {len(ordered) - SHOWN:,} that changed less; --json prints all")
    return [*lines, *(_behaviour_lines(acts) if acts else ())]


def _behaviour_lines(acts: Behaviour) -> list[str]:
    lines = []
    if acts.cosines is not None:
        cosines = [(str(layer), f"{row.mean():.4f}", f"{row.min():.4f}") for layer, row in enumerate(acts.cosines)]
        lines += ["", "Cosine of hidden states, over the tokens", *table([("layer", "mean", "least"), *cosines], "rrr")]
    if acts.divergences is not None:
        rows = [(str(layer), *(f"{value:.4f}" for value in row)) for layer, row in enumerate(acts.divergences.tolist())]
        heads = [str(head) for head in range(acts.divergences.shape[1])]
        lines += ["", "Jensen-Shannon divergence of attention in nats, layer by head"]
        lines += table([("layer", *heads), *rows], "r" * (len(heads) + 1))
    return lines


def _name(name: str) -> str:
    """A stranger's name as a terminal may show it."""
    return shortened(escape_controls(name), LONGEST)


def _row(each: TensorChange) -> dict[str, Any]:
    return {
        "name": each.name,
        "second_name": each.second_name,
        "shape": each.shape,
        "component": each.location.component,
        "layer": each.location.layer,
        "relative_change": each.relative_change,
        "difference_norm": each.difference_norm,
        "first_norm": each.first_norm,
        "second_norm": each.second_norm,
        "largest_difference": each.largest_difference,
        "changed": each.changed,
    }


def _behaviour(sources: tuple[ModelSource, ModelSource], text: str, settings: Settings) -> Behaviour:

    tokens = [tokenize(load_tokenizer(source, settings), text) for source in sources]
    require_same_ids(sources[0].name, tokens[0], sources[1].name, tokens[1])
    traces = [trace(load_model(source, settings), read) for source, read in zip(sources, tokens, strict=True)]
    return behaviour(traces[0], traces[1])
