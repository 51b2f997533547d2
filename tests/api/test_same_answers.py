"""A question has the same answer as a command, as a method of the library and as a question of the page.

Covers `bertviz_core/api/results/*.py`, `bertviz_core/api/corpus.py`, `bertviz_core/api/training.py`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bertviz_core import Model, open_corpus, open_model, open_training
from bertviz_core.api.results.base import Result
from bertviz_core.api.results.runs import TraceResult
from bertviz_core.api.results.weights import HeadsResult
from bertviz_core.cli.app import COMMANDS
from bertviz_core.cli.corpus import corpus_app
from bertviz_core.cli.options import app
from bertviz_core.corpus.analysis.neighbours import ROWS
from bertviz_core.questions.corpora import corpus_hits, neighbour_changes, neighbour_options
from bertviz_core.questions.interventions.attributions import pair_attributions, share_values, word_attributions
from bertviz_core.questions.interventions.effects import ablation_effects
from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.models.checkpoints import adapter_updates, checkpoint_comparison, load_report_of
from bertviz_core.questions.models.training import OpenedTraining, training_movement
from bertviz_core.questions.opened import OpenedFolder, OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.answer_list import answer_options, gold_cell, scored_answers
from bertviz_core.questions.predictions.calibration import calibration, calibration_options
from bertviz_core.questions.predictions.gold_tags import gold_tags, tag_options, tagged_list
from bertviz_core.questions.predictions.label_errors import label_errors, label_options, typed_rows
from bertviz_core.questions.predictions.predict import predictions
from bertviz_core.questions.predictions.ranking import (
    heads_options,
    late_interaction,
    ranked,
    ranking_options,
    three_heads,
)
from bertviz_core.questions.predictions.swaps import swap_options, word_swaps
from bertviz_core.questions.predictions.thresholds import labelled_pairs, threshold_options, thresholds
from bertviz_core.questions.tables.checkpoints import CHECKPOINTS
from bertviz_core.questions.tables.interventions import WORD_PAIRS
from bertviz_core.questions.tables.lines import json_object
from bertviz_core.questions.tables.training import TRAINING_LOG
from bertviz_core.questions.texts.background import background
from bertviz_core.questions.texts.bits import fewer_bits
from bertviz_core.questions.texts.chunks import chunk_options, late_chunks
from bertviz_core.questions.texts.dimensions import fewer_dimensions
from bertviz_core.questions.texts.hidden_states import head_matrices, run
from bertviz_core.questions.texts.number_formats import number_formats
from bertviz_core.questions.texts.prompts import compared_prompts
from bertviz_core.questions.texts.sentences import sentence_vectors
from bertviz_core.questions.texts.tokens import tokens, vocabulary
from bertviz_core.questions.texts.two_models import changed_heads, compared_attention, cosines_of_states
from bertviz_core.settings import Settings
from tests.api.conftest import NEWS as NEWS_TABLE
from tests.api.conftest import PAIRS, Printed
from tests.helpers.same_results import assert_same
from tests.pages.labels import NAMES

MODEL, SPLADE, CLASSIFIER = "all-MiniLM-L6-v2", "splade-tiny", "models/my-classifier"
TEXT, PAIR = "Sinan loves a beautiful day", "He likes the weather."
ADAPTER = "models/my-adapter"
TAGGED = [["the", "bank", "rose"], ["my", "pets"]], [["O", "B-LOC", "I-LOC"], ["O", "B-PER"]]
RUN, NEWS, ROUNDED = "runs/my-run", "corpora/news", "itself, rounded to float8_e4m3fn"
PET = "I love my pet python."
HEADLINES = [line.rpartition(",")[0] for line in NEWS_TABLE.splitlines()[1:]]
TOPICS = [line.rpartition(",")[2] for line in NEWS_TABLE.splitlines()[1:]]
RATED = [int(each[2]) for each in PAIRS]
CONTEXTS, ANSWERS = [each[0] for each in PAIRS], [each[1] for each in PAIRS]
ASKED, CLASSES, RIGHT = (
    ["Who?"] * len(PAIRS),
    [NAMES[at % 3] for at in range(len(PAIRS))],
    list(map(gold_cell, ANSWERS)),
)
HOSTILE = "<b onclick=alert(1)>x</b> $a$ *y*"


@pytest.fixture(autouse=True)
def place(in_workplace: Path) -> Path:
    return in_workplace


class Face(NamedTuple):
    """One question in each interface."""

    command: tuple[str, ...]
    """Arguments after the name of the command."""
    library: Callable[[], Any]
    """Asks the library."""
    question: Callable[[Any], Any]
    """Asks like the page; returns the result of its answer."""
    as_json: Callable[[Any], Any] = Result.to_json
    """Converts the library's result to the object that the command prints."""


def of_model(question: Callable[..., Any], *texts: str, pair: str | None = None, **values: str) -> Callable[..., Any]:
    return lambda opened: question(opened, Options(texts, pair, values=values)).result


def predicted(name: str, *command: str, task: str | None = None, pair: str | None = None, **options: Any) -> Face:
    values = {key: ",".join(map(str, each)) if key == "mask" else str(each) for key, each in options.items()}
    chosen = Options(task=task, values=values)
    typed = (*(("--task", task) if task else ()), *(("--pair", pair) if pair else ()), *command)
    return Face(
        (name, PET, *typed),
        lambda: open_model(name, task).predict(PET, pair, **options),
        lambda opened: predictions(opened, chosen, [(PET, pair)])[0].result,
    )


def model() -> Model:
    return open_model(MODEL)


def tensors() -> dict[str, Any]:
    """What `compare` prints of the tensors of the model and its copy."""
    return json_object(CHECKPOINTS.to_json(model().compute("checkpoint-comparison", other=ROUNDED)))


BOTH = (MODEL, TEXT, "--pair", PAIR)
FACES: Mapping[str, tuple[Face, ...]] = {
    "parameters": (Face((MODEL,), lambda: model().parameters(), of_model(parameters)),),
    "load-report": (
        Face(
            (MODEL, "--task", "sequence-classification"),
            lambda: model().load_report("sequence-classification"),
            lambda opened: load_report_of(opened, "sequence-classification", None).result,
        ),
    ),
    "adapter": (Face((ADAPTER,), lambda: open_model(ADAPTER).adapter(), of_model(adapter_updates)),),
    "number-formats": (
        Face(
            (MODEL, "--formats", "int8 per channel,nf4"),
            lambda: model().number_formats(formats=["nf4", "int8 per channel"]),
            of_model(number_formats, formats="nf4,int8 per channel"),
        ),
    ),
    "compare": (
        Face(
            (MODEL, ROUNDED),
            lambda: model().compute("checkpoint-comparison", other=ROUNDED),
            of_model(checkpoint_comparison, other=ROUNDED),
            lambda found: json_object(CHECKPOINTS.to_json(found)),
        ),
        Face(
            (MODEL, ROUNDED, "--text", TEXT, "--pair", PAIR, "--view", "attention", "--layer", "2", "--head", "3"),
            lambda: model().compare_attention(ROUNDED, TEXT, PAIR, layer=2, head=3),
            of_model(compared_attention, TEXT, pair=PAIR, other=ROUNDED, layer="2", head="3", words="false"),
            lambda found: {**tensors(), "attention": found.to_json()},
        ),
        Face(
            (MODEL, ROUNDED, "--text", TEXT, "--view", "attention", "--other-layer", "1", "--other-head", "3"),
            lambda: model().compare_attention(ROUNDED, TEXT, other_layer=1, other_head=3),
            of_model(
                compared_attention,
                TEXT,
                other=ROUNDED,
                layer="0",
                head="0",
                other_layer="1",
                other_head="3",
                words="false",
            ),
            lambda found: {**tensors(), "attention": found.to_json()},
        ),
        Face(
            (MODEL, ROUNDED, "--text", TEXT, "--view", "heads"),
            lambda: model().changed_heads(ROUNDED, TEXT),
            of_model(changed_heads, TEXT, other=ROUNDED),
            lambda found: {**tensors(), "heads": found.to_json()},
        ),
        Face(
            (MODEL, ROUNDED, "--text", TEXT, "--view", "states"),
            lambda: model().compare_states(ROUNDED, TEXT),
            of_model(cosines_of_states, TEXT, other=ROUNDED),
            lambda found: {**tensors(), "states": found.to_json()},
        ),
    ),
    "training": (
        Face(
            (RUN,),
            lambda: open_training(RUN).movement(),
            of_model(training_movement),
            lambda found: json_object({**TRAINING_LOG.to_json(open_training(RUN).log().data), **found._json()}),
        ),
    ),
    "tokens": (Face(BOTH, lambda: model().tokens(TEXT, PAIR), of_model(tokens, TEXT, pair=PAIR)),),
    "hidden": (
        Face(
            (MODEL, TEXT, "--layer", "2"),
            lambda: model().trace(TEXT),
            of_model(run, TEXT),
            lambda found: found.to_json(layer=2),
        ),
    ),
    "attention": tuple(
        Face(
            (MODEL, TEXT, "--layer", "3", "--head", "5", *more),
            lambda: model().trace(TEXT),
            of_model(run, TEXT),
            partial(TraceResult.to_json, layer=3, head=5, words=bool(more)),
        )
        for more in ((), ("--words",))
    ),
    "heads": tuple(
        Face(
            (MODEL, "--layer", "1", *more),
            lambda: model().heads(1),
            of_model(head_matrices, layer="1"),
            partial(HeadsResult.to_json, weights=bool(more)),
        )
        for more in ((), ("--weights",))
    ),
    "similarity": (
        Face(
            (MODEL, TEXT, PAIR, "--pooling", "cls", "--layer", "2"),
            lambda: model().sentences([TEXT, PAIR], pooling="cls", layer=2),
            of_model(sentence_vectors, TEXT, PAIR, pooling="cls", layer="2"),
        ),
        Face(
            (MODEL, TEXT, PAIR, PET, "--dimensions", "8,100"),
            lambda: model().sentences([TEXT, PAIR, PET]).dimensions([100, 8]),
            of_model(fewer_dimensions, TEXT, PAIR, PET, dimensions="8,100"),
        ),
    ),
    "bits": (
        Face(
            (MODEL, "news.csv", "--column", "text", "-k", "2", "--dimensions", "64,384", "--oversampling", "1"),
            lambda: model().sentences(HEADLINES).bits(k=2, dimensions=[384, 64], oversampling=1),
            of_model(fewer_bits, *HEADLINES, nearest="2", dimensions="64,384", oversampling="1"),
        ),
    ),
    "vocabulary": (
        Face(
            (MODEL, "news.csv", "--column", "text"),
            lambda: model().vocabulary(HEADLINES),
            of_model(vocabulary, *HEADLINES),
        ),
    ),
    "prompts": (
        Face(
            (MODEL, TEXT, PAIR, PET, "--prompts", "BGE"),
            lambda: model().compare_prompts([TEXT, PAIR, PET], prompts="BGE"),
            of_model(compared_prompts, TEXT, PAIR, PET, prompt_pair="BGE"),
        ),
    ),
    "background": (
        Face(
            (MODEL, "--pooling", "max"), lambda: model().background(pooling="max"), of_model(background, pooling="max")
        ),
    ),
    "rank": (
        Face(
            (CLASSIFIER, TEXT, PAIR, PET, "--label", "neutral"),
            lambda: open_model(CLASSIFIER).rank(TEXT, [PAIR, PET], label="neutral"),
            lambda opened: ranked(opened, ranking_options(TEXT, [PAIR, PET], "neutral", "", None)).result,
        ),
    ),
    "three-heads": (
        Face(
            ("models/my-bge-m3", TEXT, PAIR, PET, "--weights", "1,2,3"),
            lambda: open_model("models/my-bge-m3").three_heads(TEXT, [PAIR, PET], (1, 2, 3)),
            lambda opened: three_heads(opened, heads_options(TEXT, [PAIR, PET], "1,2,3")).result,
        ),
    ),
    "tags": (
        Face(
            ("models/my-tagger", "tags.conll", "--tag-mode", "strict"),
            lambda: open_model("models/my-tagger").tags(*TAGGED, tag_mode="strict"),
            lambda opened: gold_tags(opened, tag_options(tagged_list(*TAGGED), tag_mode="strict")).result,
        ),
    ),
    "swaps": (
        Face(
            (MODEL, "--set", "pronouns", "--swaps-by", "cosine"),
            lambda: model().word_swaps(shipped="pronouns", compared_by="cosine"),
            lambda opened: (
                word_swaps(opened, swap_options(None, None, None, swap_set="pronouns", swaps_by="cosine")).result
            ),
        ),
    ),
    "thresholds": (
        Face(
            (MODEL, "--file", "pairs.csv", "--precision", "0.8"),
            lambda: model().thresholds([each[:2] for each in PAIRS], RATED, precision=0.8),
            lambda opened: (
                thresholds(
                    opened,
                    threshold_options(labelled_pairs([each[:2] for each in PAIRS], RATED), {"precision": "0.8"}, None),
                ).result
            ),
        ),
    ),
    "label-errors": (
        Face(
            (MODEL, "news.csv", "--column", "text", "--gold", "topic", "--seed", "3"),
            lambda: model().label_errors(HEADLINES, TOPICS, seed=3),
            lambda opened: label_errors(opened, label_options(typed_rows(HEADLINES, TOPICS), {"seed": "3"})).result,
            lambda found: {**found.to_json(), "source": "news.csv"},
        ),
    ),
    "calibration": (
        Face(
            (CLASSIFIER, "labels.csv", "--bins", "5"),
            lambda: open_model(CLASSIFIER).calibration(CONTEXTS, CLASSES, bins=5),
            lambda opened: calibration(opened, calibration_options(CONTEXTS, CLASSES, bins="5")).result,
        ),
    ),
    "answers": (
        Face(
            ("models/my-reader", "questions.csv", "--context", "context", "--gold", "answer", "--longest", "3"),
            lambda: open_model("models/my-reader").answers(ASKED, CONTEXTS, ANSWERS, longest=3),
            lambda opened: scored_answers(opened, answer_options(ASKED, CONTEXTS, RIGHT, longest="3")).result,
        ),
    ),
    "chunks": (
        Face(
            (MODEL, " ".join(HEADLINES), "--tokens", "12"),
            lambda: model().chunks(" ".join(HEADLINES), tokens=12),
            lambda opened: late_chunks(opened, chunk_options(" ".join(HEADLINES), 12, 0, None)).result,
        ),
    ),
    "late-interaction": (
        Face(
            (MODEL, TEXT, PAIR),
            lambda: model().late_interaction(TEXT, PAIR),
            of_model(late_interaction, PAIR, query_sentence=TEXT),
        ),
    ),
    "causes": (
        Face(
            (*BOTH, "--kind", "gradient"),
            lambda: model().effects(TEXT, PAIR, kind="gradient"),
            of_model(ablation_effects, TEXT, pair=PAIR, kind="gradient"),
        ),
    ),
    "words": (
        Face(
            (*BOTH, "--method", "integrated-gradients"),
            lambda: model().words(TEXT, PAIR, method="integrated-gradients"),
            of_model(word_attributions, TEXT, pair=PAIR, **share_values("integrated-gradients", "mask", False)),
        ),
    ),
    "word-pairs": (
        Face(
            (MODEL, TEXT, PAIR, "--from-layer", "5"),
            lambda: model().compute("word-pairs", TEXT, pair=PAIR, layer=5),
            of_model(pair_attributions, TEXT, pair=PAIR, layer="5"),
            lambda found: json_object(WORD_PAIRS.to_json(found)),
        ),
    ),
    "predict": (
        predicted(CLASSIFIER),
        predicted(SPLADE, "--mask", "2", "--top", "3", task="masked-lm", mask=[2], top=3),
        predicted(SPLADE, "--view", "surprise", task="masked-lm", view="surprise"),
        predicted(SPLADE, "--view", "lens", "--top", "2", task="masked-lm", view="lens", top=2),
        predicted(SPLADE, "--view", "terms", task="masked-lm", view="terms", pair=TEXT),
    ),
    "corpus neighbours": (
        Face(
            (NEWS, "--model", SPLADE, "-k", "2"),
            lambda: open_corpus(NEWS).neighbours(SPLADE, 2),
            lambda opened: neighbour_changes(opened, neighbour_options(SPLADE, 2, ROWS)).result,
        ),
    ),
    "corpus info": (Face((NEWS,), lambda: open_corpus(NEWS), lambda opened: opened.corpus),),
    "corpus search": (
        Face(
            (NEWS, "money and banks", "-k", "3", "--where", "topic=economy"),
            lambda: open_corpus(NEWS).search("money and banks", k=3, where="topic=economy"),
            of_model(corpus_hits, "money and banks", hits="3", where="topic=economy"),
        ),
    ),
}
"""Command -> the same question in each interface; others are tried as `usual` says."""


def usual(name: str) -> Face:
    """A command about one text whose method and question have its name."""
    method = name.replace("-", "_")
    return Face((MODEL, TEXT), lambda: getattr(model(), method)(TEXT), lambda opened: model().compute(name, TEXT))


def json_commands() -> list[str]:
    """Names of all commands that print JSON, as the program knows them."""
    for module in dict.fromkeys(
        each.module for each in COMMANDS.values()
    ):  # a command is registered when its module is imported
        import_module(f"bertviz_core.cli.{module}")
    found = []
    for group, program in (("", app), ("corpus ", corpus_app)):
        for each in program.registered_commands:
            assert each.callback is not None
            # tests/pages/test_one_answer.py compares the command `table` for every figure.
            if "as_json" in signature(each.callback).parameters and each.name != "table":
                found.append(group + (each.name or each.callback.__name__))
    return sorted(found)


def same(one: Any, other: Any) -> None:
    """Assert that two JSON values are equal, numbers to a millionth."""
    assert type(one) is type(other) or {type(one), type(other)} == {int, float}
    if isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            same(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            same(first, second)
    elif isinstance(one, float):
        # Half a million weights: approx itself would take most of the time.
        assert one == other or abs(one - other) <= max(1e-5 * abs(other), 1e-6), (one, other)
    else:
        assert one == other


@pytest.mark.parametrize("name", json_commands())
@pytest.mark.slow
def test_command_library_and_question_give_the_same(name: str, printed: Printed) -> None:
    for face in FACES.get(name) or (usual(name),):
        found, opened = face.library(), subject_of(face)
        shown = {"notices": [], **face.as_json(found), "seconds": 0.0}
        same(shown, {"notices": [], **printed(*name.split(), *face.command), "seconds": 0.0})
        assert_same(found.data if isinstance(found, Result) else found, face.question(opened))


def subject_of(face: Face) -> OpenedModel | OpenedFolder | OpenedTraining:
    settings = Settings.from_environment(any_folder=True)
    name = face.command[0]
    if name == RUN:
        return OpenedTraining(Path(name), settings)
    return OpenedFolder(Path(name), settings) if name == NEWS else OpenedModel(name, settings)
