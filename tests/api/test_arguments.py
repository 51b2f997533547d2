"""Whatever a caller hands over by mistake is one sentence, for every public method and every argument."""

import inspect
import pickle
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bertviz_core import BertvizError, Model, open_model
from bertviz_core.api.corpus import opened_corpus
from bertviz_core.models.sources import bundled_folder

MODEL, TEXT = "all-MiniLM-L6-v2", "a b"
WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1.5, float("nan"), 1j, b"bytes", "", "\0", "\ud800", "no such thing", "x" * 10_000,
    [], [None], ["a", 1], ("a",), {}, {"a": 1}, {1, 2}, range(3), np.array([1, 2]), np.float32(1), np.zeros((2, 2)),
    pd.Series(["a"]), Path("nowhere"), object(), int, lambda: None,
)  # fmt: skip
"""Thirty values, some of which are right in some places."""
FIRST: Mapping[str, tuple[Any, ...]] = {
    "tokens": (TEXT,), "trace": (TEXT,), "heads": (0,), "sentences": ([TEXT],), "predict": (TEXT,),
    "effects": (TEXT,), "words": (TEXT,), "figure": ("parameters",), "attention": (0,), "nearest": (TEXT,),
}  # fmt: skip
"""Arguments without which a method cannot be called."""


@pytest.fixture(scope="module")
def model() -> Model:
    return open_model(MODEL)


@pytest.fixture(scope="module")
def owners(model: Model) -> dict[str, Any]:
    """What the public methods belong to."""
    return {"model": model, "trace": model.trace(TEXT), "sentences": model.sentences([TEXT, "c"])}


def refusal(call: Callable[[], Any]) -> str:
    """The sentence in which a call is refused; "" where it was answered. Anything else that is raised is a find."""
    said = ""
    with suppress(BertvizError):
        try:
            call()
        except BertvizError as error:
            said = str(error)
            raise
    assert "\n" not in said
    assert len(said) < 1_000
    return said


CASES = [
    *(("model", name) for name in ("load_report", "tokens", "trace", "heads", "sentences", "predict", "figure")),
    *(("model", name) for name in ("effects", "words")),
    *(("trace", name) for name in ("attention", "to_pandas", "to_json", "figure")),
    *(("sentences", name) for name in ("nearest", "figure")),
]


@pytest.mark.parametrize(("owner", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_thirty_wrong_values_are_answered_or_refused_in_one_sentence(
    owners: dict[str, Any], owner: str, name: str
) -> None:
    method = getattr(owners[owner], name)
    given = () if owner != "model" and name == "figure" else FIRST.get(name, ())
    parameters = inspect.signature(method).parameters
    refused = 0
    for place, (key, parameter) in enumerate(parameters.items()):
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for wrong in WRONG:
            if place < len(given):
                refused += refusal(lambda wrong=wrong: method(wrong, *given[1:])) != ""
            else:
                refused += refusal(lambda wrong=wrong, key=key: method(*given, **{key: wrong})) != ""
    assert refused >= len(WRONG) / 2


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{place} {type(value).__name__}" for place, value in enumerate(WRONG)])
def test_nothing_wrong_opens_a_model_or_a_corpus(wrong: Any) -> None:
    """The methods behind open_model and open_corpus, since the tests check the types of plain functions themselves."""
    assert refusal(lambda: Model(wrong))
    assert refusal(lambda: opened_corpus(wrong))
    if wrong is not None:
        assert refusal(lambda: Model(MODEL, wrong))
        assert refusal(lambda: Model(MODEL, device=wrong))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.trace(None), "text is None; a text is needed."),
        (lambda m: m.trace(["a"]), "text is a list of 1 (a text); a text is needed."),
        (lambda m: m.predict("a b", mask=1), "mask is a whole number; a list, each of it a whole number, is needed."),
        (lambda m: m.sentences("a"), "sentences is a text; a list, each of it a text, is needed."),
        (lambda m: m.sentences(["a", None]), "sentences is a list of 2 (a text, None); a list"),
        (lambda m: m.tokens("a", ["b"]), "pair is a list of 1 (a text); a text or None is needed."),
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


def test_results_are_the_same_when_they_were_pickled(owners: dict[str, Any], model: Model) -> None:
    results = [model.parameters(), model.tokens(TEXT), model.heads(1), owners["trace"], owners["sentences"]]
    results.append(model.words(TEXT, "c", target="cosine"))
    for result in results:
        again = pickle.loads(pickle.dumps(result))
        assert again.to_json() == result.to_json()
        assert again.figure().to_json() == result.figure().to_json()
