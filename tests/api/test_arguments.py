"""Wrong arguments are refused with one message, for every public method and every argument.

Covers `bertviz_core/api/own_model.py`.
"""

import copy
import inspect
import os
import pickle
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest

from bertviz_core import BertvizError, Model, Result, open_model
from bertviz_core.api.corpus import NeighbourChangesResult, OpenedCorpus, SearchResult, opened_corpus
from bertviz_core.api.results.answer_list import AnswerListResult
from bertviz_core.api.results.answers import (
    AnswerComparisonResult,
    BackgroundResult,
    BitsResult,
    CalibrationResult,
    CanaryCheckResult,
    CanaryResult,
    DimensionsResult,
    LabelErrorsResult,
    LateInteractionResult,
    NearestResult,
    PredictionResult,
    PromptRanksResult,
    PromptsResult,
    RankingResult,
    SentencesResult,
    SlicedAnswersResult,
    ThreeHeadsResult,
    ThresholdsResult,
    VectorExplanationResult,
)
from bertviz_core.api.results.runs import TraceResult, VocabularyResult
from bertviz_core.api.results.tags import TagScoresResult, TokenLabelsResult
from bertviz_core.api.results.two_models import (
    AttentionComparisonResult,
    ChangedHeadsResult,
    EffectsResult,
    FollowedLabelsResult,
    FollowedStatesResult,
    FollowedTextResult,
    NumberFormatsResult,
    PredictionComparisonResult,
    StateComparisonResult,
    WordsResult,
    WordSwapsResult,
)
from bertviz_core.api.results.weights import (
    AdapterResult,
    ArchitectureResult,
    HeadsResult,
    LoadReportResult,
    ParametersResult,
)
from bertviz_core.api.training import Training, TrainingLogResult, TrainingMovementResult, opened_training
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.parameters import COMMON

MODEL, TEXT, ROUNDED, RUN = "all-MiniLM-L6-v2", "a b", "itself, rounded to float8_e4m3fn", "runs/my-run"
WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1.5, float("nan"), 1j, b"bytes", "", "\0", "\ud800", "no such thing", "x" * 10_000,
    [], [None], ["a", 1], ("a",), {}, {"a": 1}, {1, 2}, range(3), np.array([1, 2]), np.float32(1), np.zeros((2, 2)),
    pd.Series(["a"]), Path("nowhere"), object(), int, lambda: None,
)  # fmt: skip
"""Thirty values, some of which are valid for some arguments."""
FIRST: Mapping[str, tuple[Any, ...]] = {
    "heads": (0,), "sentences": ([TEXT],), "attention": (0,), "compare": (ROUNDED, [TEXT]),
    "scores": ([TEXT], ["LABEL_0"]),
    **dict.fromkeys(("compare_attention", "changed_heads", "compare_states"), (ROUNDED, TEXT)),
}  # fmt: skip
"""Required arguments of methods that are not texts."""
OF_ONE_TEXT = {
    get_type_hints(method).get("return"): name
    for name, method in inspect.getmembers(Model, inspect.isfunction)
    if name[0] != "_" and "text" in inspect.signature(method).parameters
}
"""Type of a result -> name of the method that returns it, for methods that take a text."""


def checked_canary(model: Model) -> CanaryCheckResult:
    """What has changed of a model since it wrote a canary: nothing."""
    model.write_canary("canary.json", [TEXT, "c"])
    return model.check_canary("canary.json")


ANSWERS: Mapping[type, Callable[[Model], Any]] = {
    **{
        kind: lambda model, name=name: getattr(model, name)(TEXT)
        for kind, name in OF_ONE_TEXT.items()
        if isinstance(kind, type)
    },
    AnswerComparisonResult: lambda model: model.compare(ROUNDED, [TEXT, "c"]),
    AttentionComparisonResult: lambda model: model.compare_attention(ROUNDED, TEXT),
    ChangedHeadsResult: lambda model: model.changed_heads(ROUNDED, TEXT),
    PredictionComparisonResult: lambda model: model.compare(ROUNDED, text=TEXT),
    StateComparisonResult: lambda model: model.compare_states(ROUNDED, TEXT),
    SlicedAnswersResult: lambda model: model.compare(ROUNDED, [TEXT, "c"]).by("length"),
    NumberFormatsResult: lambda model: model.number_formats([TEXT, "c", "d"], ["nf4"]),
    CanaryResult: lambda model: model.write_canary("canary.json", [TEXT, "c"]),
    CanaryCheckResult: lambda model: checked_canary(model),
    NeighbourChangesResult: lambda _: opened_corpus("corpora/news").neighbours("splade-tiny", rows=20),
    ThresholdsResult: lambda model: model.thresholds(
        [(TEXT, "c"), (TEXT, "d"), ("c", "d"), (TEXT, TEXT)], [0, 0, 1, 1], scored_by="cosine"
    ),
    TagScoresResult: lambda _: open_model("models/my-tagger").tags([[TEXT, "c"]], [[0, 1]]),
    TokenLabelsResult: lambda _: open_model("models/my-tagger").tags([[TEXT, "c"]], [[0, 1]]).labels(),
    AnswerListResult: lambda _: open_model("models/my-reader").answers([TEXT], "c", ["c"]),
    LabelErrorsResult: lambda model: model.label_errors([TEXT, "c", "d", "b c"], ["x", "y", "x", "y"]),
    VectorExplanationResult: lambda model: model.explain_vectors([TEXT, "c"], model.sentences([TEXT, "c"]).vectors),
    AdapterResult: lambda _: open_model("models/my-adapter").adapter(),
    ArchitectureResult: lambda model: model.architecture(),
    WordSwapsResult: lambda model: model.word_swaps([("a", "b")], ["the {} c"]),
    CalibrationResult: lambda model: model.calibration([TEXT, "c", "d", "e"], ["neutral", "entailment"] * 2),
    BackgroundResult: lambda model: model.background([TEXT, "c", "d"]),
    DimensionsResult: lambda model: model.sentences([TEXT, "c", "d"]).dimensions([2, 4]),
    BitsResult: lambda model: model.sentences([TEXT, "c", "d"]).bits(k=1, dimensions=[2, 4]),
    EffectsResult: lambda model: model.effects(TEXT, target="class:neutral", kind="gradient"),
    FollowedLabelsResult: lambda _: opened_training(RUN).scores([TEXT], ["LABEL_0"]),
    FollowedStatesResult: lambda _: opened_training(RUN).layers([TEXT, "c", "d", "e"]),
    FollowedTextResult: lambda _: opened_training(RUN).follow(TEXT),
    HeadsResult: lambda model: model.heads(0),
    LoadReportResult: lambda model: model.load_report(),
    NearestResult: lambda model: model.sentences([TEXT, "c"]).nearest("d"),
    OpenedCorpus: lambda _: opened_corpus("corpora/news"),
    ParametersResult: lambda model: model.parameters(),
    PredictionResult: lambda model: model.predict(TEXT),
    LateInteractionResult: lambda model: model.late_interaction(TEXT, "c"),
    ThreeHeadsResult: lambda _: open_model("models/my-bge-m3").three_heads(TEXT, [TEXT, "c"]),
    PromptsResult: lambda model: model.compare_prompts([TEXT, "c"]),
    PromptRanksResult: lambda model: model.compare_prompts([TEXT, "c"], queries=[TEXT, "d"]),
    RankingResult: lambda model: model.rank(TEXT, [TEXT, "c"], label="neutral"),
    SearchResult: lambda _: opened_corpus("corpora/news").search("money", k=2),
    SentencesResult: lambda model: model.sentences([TEXT, "c"]),
    TraceResult: lambda model: model.trace(TEXT),
    TrainingLogResult: lambda _: opened_training(RUN).log(),
    TrainingMovementResult: lambda _: opened_training(RUN).movement(),
    VocabularyResult: lambda model: model.vocabulary([TEXT, "c"]),
    WordsResult: lambda model: model.words(TEXT, target="class:neutral"),
}
"""An example result of each type."""
OPENED: Mapping[type, Callable[[Model], Any]] = {Model: lambda model: model, Training: lambda _: opened_training(RUN)}


@pytest.fixture(scope="module")
def model() -> Model:
    return open_model(MODEL)


@pytest.fixture(scope="module")
def answers(workplace: Path) -> dict[type, Any]:
    """A result of each type for a classifier, and the classifier."""
    here = Path.cwd()
    os.chdir(workplace)
    try:
        classifier = open_model("models/my-classifier")
        return {kind: ask(classifier) for kind, ask in {**OPENED, **ANSWERS}.items()}
    finally:
        os.chdir(here)


def methods(owner: type) -> list[str]:
    """Public methods that take arguments."""
    found = inspect.getmembers(owner, inspect.isfunction)
    return [name for name, each in found if name[0] != "_" and len(inspect.signature(each).parameters) > 1]


def required(method: Any) -> tuple[str, ...]:
    """A text for each required argument of a method."""
    return (TEXT,) * sum(
        each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        for each in inspect.signature(method).parameters.values()
    )


def refusal(call: Callable[[], Any]) -> str:
    """The message of a refused call; "" if it succeeded. Any other exception is a bug."""
    message = ""
    with suppress(BertvizError):
        try:
            call()
        except BertvizError as error:
            message = str(error)
            raise
    assert "\n" not in message
    assert len(message) < 1_000
    return message


CASES = [(owner, name) for owner in (*OPENED, *ANSWERS) for name in methods(owner)]


def test_each_kind_of_answer_is_among_them() -> None:
    assert {each for each in Result.__subclasses__() if each.__module__.startswith("bertviz_core")} == set(ANSWERS)
    assert len(CASES) > 2 * len(ANSWERS) - 8


@pytest.mark.parametrize(("owner", "name"), CASES, ids=[f"{owner.__name__} {name}" for owner, name in CASES])
@pytest.mark.slow
def test_thirty_wrong_values_are_answered_or_refused_in_one_sentence(
    answers: dict[type, Any], in_workplace: Path, owner: type, name: str
) -> None:
    method = getattr(answers[owner], name)
    first = ("parameters",) if owner is Model and name == "figure" else FIRST.get(name, required(method))
    for place, (key, parameter) in enumerate(inspect.signature(method).parameters.items()):
        refused = 0
        for wrong in WRONG:
            if parameter.kind is parameter.VAR_POSITIONAL:
                refused += refusal(lambda wrong=wrong: method(*first, wrong)) != ""
            elif parameter.kind is parameter.VAR_KEYWORD:
                refused += refusal(lambda wrong=wrong: method(*first, layer=wrong)) != ""
            elif place < len(first):
                given = (*first[:place], wrong, *first[place + 1 :])
                refused += refusal(lambda given=given: method(*given)) != ""
            else:
                refused += refusal(lambda wrong=wrong, key=key: method(*first, **{key: wrong})) != ""
        assert refused >= len(WRONG) / 2, key


@pytest.mark.parametrize("option", COMMON)
@pytest.mark.slow
def test_thirty_wrong_values_of_each_option_of_a_figure(model: Model, option: str) -> None:
    run = model.trace(TEXT)
    assert sum(refusal(lambda wrong=wrong: run.figure("hidden", **{option: wrong})) != "" for wrong in WRONG) >= 10


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{place} {type(value).__name__}" for place, value in enumerate(WRONG)])
def test_nothing_wrong_opens_a_model_or_a_corpus(wrong: Any) -> None:
    """Calls the methods behind open_model and open_corpus, since the tests already check types of plain functions."""
    assert refusal(lambda: Model(wrong))
    assert refusal(lambda: opened_corpus(wrong))
    if wrong is not None:
        assert refusal(lambda: Model(MODEL, wrong))
        assert refusal(lambda: Model(MODEL, device=wrong))
        assert refusal(lambda: Model(MODEL, tokenizer=wrong))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.trace(None), "text is None; a text or a list of texts is needed."),
        (lambda m: m.trace(b"a"), "text is bytes; a text or a list of texts is needed."),
        (lambda m: m.predict("a b", mask=1), "mask is a whole number; a list of whole numbers is needed."),
        (lambda m: m.sentences("a"), "sentences is a text; a list of texts is needed."),
        (lambda m: m.sentences(["a", None]), "sentences is a list of 2 (a text, None); a list of texts is needed."),
        (lambda m: m.tokens("a", ["b"]), "pair is a list of 1 (a text); a text or None is needed."),
        (lambda m: m.sentences([]), "sentences is an empty list; give at least one text."),
        (lambda m: m.trace("a", ["b"]), "pair is a list of 1 (a text) and text is one text; give one second text"),
        (lambda m: m.trace(["a", "b"], ["c"]), "text is a list of 2 and pair one of 1; give a pair for each text."),
        (lambda m: m.effects(["a", None], "b"), "text is a list of 2 (a text, None); a text or a list of texts"),
        (lambda m: m.compare(MODEL, []), "texts is an empty list; give at least one text."),
        (lambda m: m.compare(MODEL, ["a", "b"], ["c"]), "texts is a list of 2 and gold one of 1; give one for each."),
        (lambda m: m.compare(MODEL, ["a"], pair=["b", "c"]), "texts is a list of 1 and pair one of 2; give one for"),
        (lambda m: m.compare(5, ["a"]), "other is a whole number; a text or a path is needed."),
        (lambda m: m.figure("attention"), "This figure shows one text, and none came; give one, in quotes."),
        (lambda m: m.figure("hidden", "a", 5), "texts[1] is a whole number; a text is needed."),
        (lambda m: m.figure("parameters", depth=[1]), "depth is a list of 1 (a whole number); a text or a whole"),
        (lambda m: m.figure("parameters", width=0), "width is 0 pixels; give 10 to 100,000."),
    ],
)
def test_a_refusal_names_the_argument_and_what_came(model: Model, call: Callable[[Model], Any], words: str) -> None:
    with pytest.raises(BertvizError, match=re.escape(words)):
        call(model)


def test_numbers_and_lists_of_numpy_and_pandas_will_do(model: Model) -> None:
    assert model.heads(np.int64(1)).data.layer == 1  # type: ignore[arg-type]  # as NumPy's indices are
    assert len(model.sentences(pd.Series(["a", "b"])).data.vectors) == 2  # type: ignore[arg-type]
    assert len(model.sentences(np.array(["a", "b"])).data.vectors) == 2  # type: ignore[arg-type]


def test_a_path_opens_a_folder_and_a_device_is_where_it_runs() -> None:
    model = open_model(bundled_folder(MODEL), device="cpu")
    assert model.parameters().total == open_model(MODEL).parameters().total
    assert model._opened.loaded.device == "cpu"
    with pytest.raises(BertvizError, match="There is no device 'tpu'; give auto, cpu"):
        open_model(MODEL, device="tpu")
    with pytest.raises(BertvizError, match="device is set to 'cuda:99', which is not there"):
        open_model(MODEL, device="cuda:99")


def test_a_path_is_taken_wherever_a_name_of_a_model_or_file_is(model: Model, tmp_path: Path) -> None:
    folder = bundled_folder(MODEL)
    for name in ("states-compared", "attention-compared"):
        drawn = model.figure(name, TEXT, other=folder)
        assert drawn.to_json() == model.figure(name, TEXT, other=str(folder)).to_json()
    assert repr(model.compute("states-compared", TEXT, other=folder)) == repr(
        model.compute("states-compared", TEXT, other=str(folder))
    )
    assert model.figure("models", folder).to_json() == model.figure("models", str(folder)).to_json()
    model.tokens(TEXT).save_figure(tmp_path / "tokens.html")
    model.save_figure(tmp_path / "models.html", "models", folder)
    assert {each.name for each in tmp_path.iterdir()} == {"tokens.html", "models.html"}
    with pytest.raises(BertvizError, match="an object of PosixPath; a text is needed"):
        model.figure("tokens", folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_an_answer_is_the_same_when_it_was_pickled_or_copied(
    answers: dict[type, Any], in_workplace: Path, kind: type
) -> None:
    for again in (pickle.loads(pickle.dumps(answers[kind])), copy.deepcopy(answers[kind])):
        assert type(again) is kind
        assert again.to_json() == answers[kind].to_json()
        assert repr(again) == repr(answers[kind])
        assert not again.figures or again.figure().to_json() == answers[kind].figure().to_json()


@pytest.mark.slow
def test_the_numbers_of_an_answer_are_read_where_its_model_is_not(
    answers: dict[type, Any], in_workplace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pickled = pickle.dumps(answers[PredictionResult])
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(pickled)
    assert again.probabilities == answers[PredictionResult].probabilities
    with pytest.raises(BertvizError, match="No model 'models/my-classifier' found"):
        again.figure()
