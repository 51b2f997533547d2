"""For every question, the public library gives the same answer, and so do the lines of Python that are shown.

Covers `bertviz_core/questions/report/library_lines.py`, `bertviz_core/api/drawing.py`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bertviz_core import open_corpus, open_model
from bertviz_core.corpus.folder import Corpus
from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog import BUNDLED, WEIGHTS
from bertviz_core.predictions.probing.scores import probe_bytes
from bertviz_core.questions.models.training import OpenedTraining, TrainingSubject
from bertviz_core.questions.opened import CorpusSubject, OpenedFolder, OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import fitted_probes
from bertviz_core.questions.question import all_questions
from bertviz_core.questions.report.library_lines import LINE, METHODS, PRINTED, SPELLED, call_lines, library_lines
from bertviz_core.settings import Settings
from tests.cli.conftest import models_in_memory
from tests.helpers.made_corpora import made_corpus
from tests.helpers.multi_vector import save_heads
from tests.helpers.same_results import assert_same
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.training_runs import save_run
from tests.helpers.written_adapters import write_adapter
from tests.pages.labels import CONTEXT, EDITED, LABELLED, NAMES, QUESTION, TAGS, TEXT, named

__all__ = ["models_in_memory"]  # a fixture
MODEL = "all-MiniLM-L6-v2"
SECOND = "my pet is a python"
FOLDERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "words": ("masked-lm", {}),
    "classes": ("sequence-classification", named(*NAMES)),
    "tags": ("token-classification", named(*TAGS)),
    "answers": ("question-answering", {}),
    "pretraining": ("pretraining", {}),
}
"""Folder of a tiny model -> its task, and changes of its config."""


class Case(NamedTuple):
    """An example of a question."""

    model: str = "words"
    """Folder of the tiny model."""
    texts: tuple[str, ...] = (TEXT,)
    pair: str | None = None
    values: Mapping[str, str] = {}
    task: str | None = None


ROUNDED = "itself, rounded to float8_e4m3fn"
TYPED = ("a\ta river", "b\ta bank", "a\ttwo rivers", "b\ttwo banks")
LISTED = (TEXT, SECOND, "the river")
GOLD = (TEXT, SECOND, "4.0", TEXT, "the river", "1.0", SECOND, "a bank", "0.5", "a river", "the river", "5.0")
ROWS = ("a river", "a", "1", "a bank", "b", "2", "two rivers", "a", "4", "two banks", "b", "5", "the river", "b", "7")
TAGGED_WORDS = ("a O\npet B-PER", '{"tokens": ["my", "rivers", "bank"], "tags": ["O", "B-LOC", 4]}')
ROWS_SET = {"labelled_set": "t.csv"}
OF_COSINE = Case(pair=SECOND, values={"target": "cosine"})
CASES: Mapping[str, Case] = {
    "accuracy": Case("classes", LABELLED, values={"count": "1", "removed_for": "nothing"}),
    "adapter-updates": Case("adapter", texts=(), values={"update_measure": "stable rank"}),
    "answers": Case("answers", (QUESTION,), CONTEXT, {"longest": "4"}),
    "answer-map": Case("answers", (QUESTION,), CONTEXT, {"window": "1"}),
    "answers-change": Case("answers", (QUESTION,), CONTEXT, {"edited_pair": TEXT}),
    **dict.fromkeys(
        ("answers-compared", "scores-compared"),
        Case("classes", (TEXT, "neutral", SECOND, ""), values={"other": ROUNDED, "with_gold": "true"}),
    ),
    "slices-compared": Case(
        "classes",
        (TEXT, "neutral", "a", SECOND, "", "b"),
        values={"other": ROUNDED, "with_gold": "true", "slices": "column"},
    ),
    "attention": Case(values={"layer": "2", "head": "1", "words": "true", "weights": "rollout"}),
    "attention-changed": Case(values={"other": ROUNDED}),
    "attention-compared": Case(
        values={"other": ROUNDED, "layer": "2", "head": "1", "other_layer": "1", "other_head": "0", "words": "true"}
    ),
    "ablation-effects": OF_COSINE._replace(values={"kind": "gradient"}),
    "behaviours": Case(values={"other": ROUNDED}),
    "change": Case(texts=(), values={"other": ROUNDED}),
    "changed-journey": Case(values={"change": "text", "edited": EDITED}),
    "changed-number": OF_COSINE._replace(values={"target": "cosine", "change": "layer-1"}),
    "changes": Case(texts=(), values={"other": ROUNDED}),
    "checkpoint-statistics": Case(texts=()),
    "checkpoint-comparison": Case(texts=(), values={"other": ROUNDED}),
    "cosines": Case(values={"other": ROUNDED}),
    "divergences": Case(values={"other": ROUNDED}),
    "bits": Case(texts=LISTED, values={"dimensions": "2,3", "nearest": "1", "query_lines": "a pet\na river"}),
    "classes": Case("classes", values={"order": "as in the model"}),
    "classes-change": Case("classes", values={"edited": EDITED}),
    "classes-without": Case("classes", values={"removed_heads": "0.1", "target": "class:neutral"}),
    "calibration": Case(
        "classes",
        (TEXT, "neutral", SECOND, "entailment", "the river", "neutral", "a bank", "entailment"),
        values={"with_gold": "true", "bins": "4"},
    ),
    "confusion": Case("classes", tuple("\t".join(reversed(line.split("\t"))) for line in LABELLED)),
    "column-colours": Case(texts=(), values={"coloured": "kind"}),
    "corpus-search": Case(texts=("a bank",), values={"hits": "3", "where": "kind=a"}),
    "corpus-map": Case(texts=(), values={"placed": "pca"}),
    "corpus-duplicates": Case(texts=(), values={"alike": "0.5"}),
    "corpus-clusters": Case(texts=(), values={"clusters": "3", "clustering": "k-means"}),
    "corpus-heads": Case(texts=(), values={"sample": "3"}),
    "corpus-neighbours": Case(texts=(), values={"neighbour_model": "splade-tiny", "neighbour_rows": "20"}),
    "corpus-probe": Case(texts=(), values={"probe_labels": "kind", "probe_sample": "24"}),
    "dimensions": Case(texts=LISTED, values={"dimensions": "2,3"}),
    "effects": OF_COSINE,
    "effects-compared": OF_COSINE._replace(values={"target": "cosine", "other": ROUNDED}),
    "effect-spread": OF_COSINE._replace(texts=LISTED[1:], values={"target": "cosine", "removed_for": "its mean"}),
    "fitted-probes": Case(texts=TYPED, values={"seed": "5"}),
    "heads": Case(texts=()),
    "word-swaps": Case(
        "classes", ("my {} pet", "a {}"), values={"word_pairs": "river / bank", "swap_output": "neutral"}
    ),
    "gold-labels": Case("tags", TAGGED_WORDS, values={"tagged_sentence": "2", "aligned": "all pieces"}),
    "gold-tags": Case("tags", TAGGED_WORDS, values={"tag_mode": "strict"}),
    "label-errors": Case(texts=ROWS, values={**ROWS_SET, "suspects_by": "noise rate", "seed": "3"}),
    "label-probabilities": Case(texts=ROWS, values={**ROWS_SET, "pooling": "max"}),
    "late-interaction": Case(values={"query_sentence": "a pet"}),
    "layer-similarity": Case(texts=(*LISTED, "a bank"), values={"other": ROUNDED}),
    "null-threshold": Case(
        "answers",
        ("the pet?", "I love my pet", "pet", "who?", "a river", ""),
        values={"paired": "true", "with_gold": "true", "null_threshold": "-0.5", "longest": "3"},
    ),
    "number-formats": Case("classes", LISTED, values={"formats": "nf4,int8", "rounded_by": "component"}),
    "joint-ablation": OF_COSINE._replace(values={"removed_heads": "0.1,2.0"}),
    "lens": Case(values={"mask": "2,3"}),
    "listed-answers": Case("answers", (QUESTION, "who?"), CONTEXT, {"longest": "3"}),
    "map": Case(texts=LISTED, values={"pooling": "max", "layer": "1"}),
    "models": Case(texts=("bert-base-uncased",)),
    "next-sentence": Case("pretraining", pair=SECOND, task="next-sentence"),
    "own-word": Case(values={"compare": "pet", "position": "2"}),
    "pair": Case(texts=LISTED[:2], values={"cells": "words"}),
    "patched-heads": Case("classes", pair="I love my pet river.", values={"target": "class:neutral"}),
    "pooler": Case("classes"),
    "predictions-compared": Case("tags", values={"other": ROUNDED}),
    "probe": Case(texts=TYPED, values={"pooling": "max"}),
    "probe-answer": Case(values={"target": "probe:probe.zip"}),
    "prompts": Case(texts=LISTED, values={"prompt_pair": "BGE", "pooling": "max"}),
    "prompt-ranks": Case(texts=GOLD, values={"prompt_pair": "typed", "query_prompt_text": "the river : "}),
    "query": Case(texts=LISTED, values={"query_sentence": "a pet"}),
    "query-terms": Case(texts=LISTED, values={"query_sentence": "a pet"}),
    "ranking": Case("classes", LISTED, values={"query_sentence": "a pet", "label": "neutral", "beside": "own"}),
    "removal": OF_COSINE._replace(values={"target": "cosine", "count": "2", "removed_for": "its mean"}),
    "gold-cosines": Case(texts=GOLD, values={"other": ROUNDED}),
    "sentences-compared": Case(texts=(*LISTED, "a bank"), values={"other": ROUNDED}),
    "states-compared": Case(values={"other": ROUNDED}),
    "tags": Case("tags", values={"joined": "none"}),
    "thresholds": Case(texts=GOLD, values={"cut": "2.0", "precision": "0.5", "pooling": "max"}),
    "vocabulary": Case(texts=LISTED),
    "tagged-tokens": Case("tags"),
    "tags-change": Case("tags", values={"edited": EDITED}),
    "shared-terms": Case(pair=SECOND),
    "term-score": Case(pair=SECOND),
    "three-heads": Case("heads", LISTED, values={"query_sentence": "a pet", "head_weights": "1,2,3"}),
    "text-answers": Case("classes", (TEXT, SECOND, TEXT, "the river"), values={"paired": "true"}),
    "two-backgrounds": Case(texts=LISTED, values={"other": ROUNDED}),
    "training-cka": Case(texts=(*LISTED, "a bank")),
    "training-entropy": Case(texts=(*LISTED, "a bank"), values={"entropy_drawn": "change from the first checkpoint"}),
    "training-log": Case(texts=()),
    "training-movement": Case(texts=(), values={"moved_from": "the previous checkpoint", "moved_part": "attention"}),
    "training-scores": Case(texts=(TEXT, "LABEL_1", SECOND, "LABEL_0"), values={"with_gold": "true"}),
    "training-text": Case(pair=SECOND),
    "values": Case(texts=(), values={"tensor": "bert.embeddings.LayerNorm.bias"}),
    "word": Case(texts=(TEXT, "the pet bank"), values={"word": "pet"}),
    "word-classes": Case("classes", values={"classes": '"neutral","entailment"', "units": "tokens"}),
    "word-curves": OF_COSINE,
    "word-pairs": Case(pair=SECOND, values={"layer": "1"}),
    "word-shares": OF_COSINE._replace(values={"target": "cosine", "method": "integrated gradients"}),
    "word-tags": Case("tags", TAGGED_WORDS),
    "words-compared": OF_COSINE._replace(values={"target": "cosine", "other": ROUNDED, "units": "tokens"}),
    "words-change": Case(values={"edited": EDITED, "guess": "4"}),
    **dict.fromkeys(("sentences", "blocks", "poolings", "vectors", "sentence-vectors"), Case(texts=LISTED)),
}
"""Public name of a question -> its example; other questions use the default text."""
NAMED = sorted({question.public_name for question in all_questions().values()} & all_questions().keys())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny models, and a probe of one of them."""
    folder = tmp_path_factory.mktemp("models")
    for name, (task, changes) in FOLDERS.items():
        save_tiny_head("bert", task, folder / name, **changes)
    write_adapter(folder / "adapter", "words", folder / "words")
    save_heads(folder / "heads")
    fit = fitted_probes(model_in(folder / "words"), Options(CASES["fitted-probes"].texts))
    (folder / "probe.zip").write_bytes(probe_bytes(fit.result.probes[-1]))
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    sha = BUNDLED[MODEL].digests[WEIGHTS]
    folder = tmp_path_factory.mktemp("corpora") / "mine"
    return made_corpus(folder, dimensions=384, rows=40, rows_per_shard=25, shards=2, weights_sha256=sha)


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_run(tmp_path_factory.mktemp("training") / "run")


def model_in(folder: Path, task: str | None = None) -> OpenedModel:
    return OpenedModel(str(folder), Settings.from_environment(any_folder=True), task)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.sample(1)
@pytest.mark.usefixtures("models_in_memory")
def test_the_lines_of_a_question_give_its_answer(
    name: str, place: Path, corpus: Corpus, training: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    question, case = all_questions()[name], CASES.get(name, Case())
    options = Options(case.texts, case.pair, case.task, case.values)
    opened: Any = model_in(place / case.model, case.task)
    if question.subject is CorpusSubject:
        opened = OpenedFolder(corpus.path, Settings.from_environment(any_folder=True))
    if question.subject is TrainingSubject:
        opened = OpenedTraining(training, Settings.from_environment(any_folder=True))
    shown: dict[str, Any] = {"print": lambda *_: None}
    exec(library_lines(question, opened, options), shown)  # noqa: S102  # that they run is what is tested
    result = shown["result"]
    assert_same(result.data if name in METHODS else result, question(opened, options).result)


def test_every_case_is_of_a_question() -> None:
    assert set(CASES) <= set(NAMED)
    assert set(METHODS) <= set(PRINTED) <= set(NAMED)


def test_long_texts_are_read_from_files() -> None:
    run = all_questions()["run"]
    assert call_lines(run, Options(("a" * SPELLED,))).startswith("result = model.compute(\n")
    assert "model.compute('run', text)" in call_lines(run, Options(("a" * (SPELLED + 1),)))
    assert "model.compute('sentences', *texts)" in call_lines(
        all_questions()["sentences"], Options(("a" * SPELLED, "b"))
    )
    assert max(map(len, call_lines(run, Options(("a" * LINE,))).splitlines())) <= LINE + len("    '',")


def test_what_a_caller_can_cause_is_one_sentence(corpus: Corpus) -> None:
    model = open_model(MODEL)
    for ask, message in (
        (lambda: model.compute("effectz", TEXT), "There is no figure 'effectz'. Did you mean 'effects'?"),
        (lambda: model.compute("effects", TEXT, colour="red"), "'effects' has no option 'colour'; those it has: layer"),
        (lambda: model.compute("corpus-map"), "'corpus-map' is about a corpus; use open_corpus."),
        (lambda: model.figure("corpus-map"), "'corpus-map' is about a corpus; use open_corpus."),
        (lambda: open_corpus(corpus.path).compute("effects"), "'effects' is about a model; use open_model."),
        (lambda: model.figure("training-log"), "'training-log' is about a training run; use open_training."),
    ):
        with pytest.raises(BertvizError, match=re.escape(message)):
            ask()
