"""The command line: its commands, which are imported when they are called."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple, NoReturn

import typer
from typer.exceptions import TyperException

from bertviz_core.cli.options import app, program
from bertviz_core.errors import BertvizError
from bertviz_core.questions.parameters import COMMON
from bertviz_core.text import escape_controls


class Command(NamedTuple):
    """The module of a command, and what it does."""

    module: str
    """Its module in bertviz_core.cli, which registers it when imported."""
    line: str
    """What it does, as its own help begins."""


COMMANDS: Mapping[str, Command] = {
    "parameters": Command("parameters", "List every named parameter and how the counts add up."),
    "load-report": Command(
        "checkpoints", "Tell which weights of a task's class the checkpoint has; only its header is read."
    ),
    "adapter": Command(
        "checkpoints", "List what a LoRA adapter adds to each matrix of its base: rank, norm, singular values."
    ),
    "number-formats": Command(
        "checkpoints",
        "Round the weights to fewer bits: error and bytes by part, and what vectors and answers of texts keep.",
    ),
    "compare": Command(
        "checkpoints",
        "Compare two checkpoints: their tensors, their runs on a text or what they predict for it, answers to a file.",
    ),
    "training": Command(
        "checkpoints",
        "Say what a trainer logged, how far each layer moved by each checkpoint, and what the checkpoints answer.",
    ),
    "tokens": Command("tokens", "List the tokens of a text, or of a pair, as the model reads them."),
    "vocabulary": Command(
        "sentences",
        "Count which rows of the vocabulary texts use, by script and frequency, and how many pieces their words have.",
    ),
    "hidden": Command("texts", "Print the hidden states of one layer, a vector per token."),
    "attention": Command(
        "texts", "Print the attention of one head of one layer, a row per query; every row sums to 1."
    ),
    "heads": Command(
        "texts", "Print a layer's query, key, value and output matrices cut into heads: norms, or every weight."
    ),
    "similarity": Command(
        "sentences",
        "Compare sentences: the cosine of every two of them, also beside another model's or gold similarities.",
    ),
    "embed": Command(
        "sentences", "Write the vectors of a file's sentences, with the model, its revision, pooling and layer."
    ),
    "bits": Command("bits", "Measure what vectors of fewer bits and dimensions keep: recall, rank correlation, bytes."),
    "chunks": Command(
        "chunks",
        "Cut a long text into chunks: each embedded alone, and late from the whole text; what the vector is made of.",
    ),
    "background": Command(
        "sentences", "Print how alike unrelated texts are to the model, so that the height of a cosine can be judged."
    ),
    "vectors": Command("vectors", "Name the recipe that makes vectors which another program computed."),
    "canary": Command("vectors", "Say whether a model still makes the tokens and vectors that it made."),
    "prompts": Command(
        "prompts",
        "Compare texts without a prompt, with prompts of queries and documents, and swapped: cosines, or ranks.",
    ),
    "predict": Command("predictions", "Ask a model's task head: words at a mask, classes, tags, answers."),
    "calibration": Command(
        "predictions",
        "Say how sure a classifier may be: reliability, ECE, Brier score, log loss, temperature, coverage.",
    ),
    "swaps": Command(
        "predictions", "Exchange a word of template texts, and compare what the model answers, with an interval."
    ),
    "rank": Command(
        "predictions",
        "Order texts for a query by a cross-encoder, an NLI head or late interaction, beside cosines of sentences.",
    ),
    "thresholds": Command(
        "labels",
        "Find a threshold of a score from labelled pairs: precision, recall and F1 of every one, with intervals.",
    ),
    "label-errors": Command(
        "labels", "Name the labels of a file that are likely wrong, by confident learning, and what they should be."
    ),
    "tags": Command(
        "labels",
        "Score the entities that a tagger finds in words with gold tags: precision, recall, F1, and every error.",
    ),
    "answers": Command(
        "labels",
        "Answer the questions of a file, or say that there is no answer: exact match, F1, and the best threshold.",
    ),
    "late-interaction": Command(
        "predictions",
        "Compare every token of a query with every token of a text; the score is the sum of the largest cosines.",
    ),
    "three-heads": Command(
        "predictions",
        "Score texts for a query by the dense, sparse and multi-vector head of BGE-M3, and by their weighted mean.",
    ),
    "causes": Command(
        "attributions", "Print how much a number of the model changes without each head, feed-forward block and layer."
    ),
    "words": Command("attributions", "Print what each word of a text adds to a number of the model."),
    "word-pairs": Command("attributions", "Print what pairs of tokens add to a cosine, compared with texts of masks."),
    "corpus": Command("corpus", "Many texts and their vectors in a folder."),
    "figure": Command("figure", "Write the figure of a page as the dashboard draws it, or its table."),
    "table": Command("figure", "Print the numbers of the figure of a page, as the table there."),
    "report": Command(
        "figure",
        "Write a report: figures of a model and a text in one HTML file that needs no network, or on slides, one each.",
    ),
    "serve": Command("serve", "Serve the dashboard."),
    "mcp": Command(
        "agent",
        "Answer an agent over standard input and output: the commands with --json, as tools of the protocol MCP.",
    ),
}
"""Command -> its module and line, in the order of `--help`."""


OWN_OPTIONS = ("--help", "--version")
"""Options of the program itself; without a command, other options are passed to the server."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells: 128 plus the number of the signal."""


def main(prog_name: str | None = None) -> None:
    """Run the command line, called `prog_name` in its help; errors end with one line on stderr and exit code 2."""
    if not sys.argv[1:]:
        sys.argv.append("--help")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # for the threads of torch; see app.py
    command = next((word for word in sys.argv[1:] if word in COMMANDS), None)
    try:
        code = _program(command)(prog_name=prog_name, standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except TyperException as error:
        code = _refused(f"{' '.join(str(error).split()).rstrip('.')}. See --help.")
    except BertvizError as error:
        code = _refused(error.spelled(lambda name: spelled(command, name)))
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    except OSError as error:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)  # otherwise Python tries to write the rest again on exit
        code = _refused(unusable(error))
    if code == INTERRUPTED:
        _end_interrupted(command in ("embed", "corpus"))
    sys.exit(code)


def inside_bert() -> None:
    """The entry point `inside-bert`: runs the command line, or serves the dashboard if there is no command."""
    if not sys.argv[1:] or (sys.argv[1].startswith("-") and sys.argv[1] not in OWN_OPTIONS):
        sys.argv.insert(1, "serve")
    main()


def hf_inside() -> None:
    """The entry point `hf-inside`, by which Hugging Face's command line has the commands as `hf inside`."""
    main("hf inside")


def _program(command: str | None) -> typer.Typer:
    """The program with the requested command; without one, all commands by their lines, of which none runs."""
    if command is not None:
        import_module(f"bertviz_core.cli.{COMMANDS[command].module}")
        return app
    listed = program()
    for name, each in COMMANDS.items():
        listed.command(name, help=each.line)(lambda: None)
    return listed


def spelled(command: str | None, name: str) -> str:
    """Spelling of a parameter for a command: an option, or a setting of a figure."""
    if command in ("figure", "table") and name not in (*COMMON, "pair", "task"):
        return f"--set {name}"
    return "--from-layer" if (command, name) == ("word-pairs", "layer") else f"--{name.replace('_', '-')}"


def unusable(error: OSError) -> str:
    """One sentence about a file that cannot be used."""
    what = "The output cannot be written" if error.filename is None else f"{error.filename!r} cannot be used"
    return f"{what} ({error.strerror or error})."


def _refused(sentence: str) -> int:
    sys.stderr.write(f"{escape_controls(sentence)}\n")
    return 2


def _end_interrupted(resumable: bool) -> NoReturn:
    """Exit without waiting for threads of libraries, which would end the process with another signal."""
    more = " The vectors made so far are kept: the same command resumes there." if resumable else ""
    with suppress(OSError):
        sys.stderr.write(f"\nInterrupted.{more}\n")
        sys.stderr.flush()
    os._exit(INTERRUPTED)
