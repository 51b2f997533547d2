"""Check the arguments of public methods against their annotations."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike, fspath
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from bertviz_core.api.own_model import Saveable
from bertviz_core.errors import TextError

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Texts = list[str] | tuple[str, ...]
"""Several texts; NumPy arrays and pandas series are also accepted."""
KINDS: Mapping[Any, str] = {str: "a text", int: "a whole number", float: "a number", bool: "True or False"}
MANY: Mapping[Any, str] = {str: "texts", int: "whole numbers"}
LISTS = (Sequence, list, tuple)
"""Annotations for which any sequence except a text is accepted."""
SHOWN = 3
"""Number of elements of a list whose types are named in an error message."""


def checked(method: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorate a method to check the types of its arguments before it runs.

    NumPy numbers are accepted as numbers, and any ordered collection except a text as a sequence.

    Raises:
        TextError: an argument has the wrong type; the message names it.
    """
    signature = inspect.signature(method)
    hints: dict[str, Any] = {}

    @wraps(method)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        if not hints:
            hints.update(get_type_hints(method))
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            for argument_name, argument in _arguments(signature.parameters[name], value):
                if name in hints and not _fits(argument, hints[name]):
                    raise TextError(f"{argument_name} is {_described(argument)}; {_expected(hints[name])} is needed.")
            bound.arguments[name] = _plain(value, signature.parameters[name])
        return method(*bound.args, **bound.kwargs)

    return call


def paired(texts: str | Sequence[str], pairs: str | Sequence[str] | None) -> list[tuple[str, str | None]]:
    """Pair each text with its second text: one for all texts, one for each, or None.

    Raises:
        TextError: the numbers of texts and second texts differ.
    """
    if isinstance(texts, str):
        if pairs is not None and not isinstance(pairs, str):
            raise TextError(f"pair is {_described(pairs)} and text is one text; give one second text, or two lists.")
        return [(texts, pairs)]
    if pairs is None or isinstance(pairs, str):
        return [(text, pairs) for text in texts]
    if len(texts) != len(pairs):
        raise TextError(f"text is a list of {len(texts):,} and pair one of {len(pairs):,}; give a pair for each text.")
    return list(zip(texts, pairs, strict=True))


def answered_texts(
    texts: Sequence[str], gold: Sequence[str] | None, pairs: str | Sequence[str] | None
) -> tuple[list[str], list[str] | None, list[str] | None]:
    """Texts, their gold labels and their second texts, of equal number.

    Raises:
        TextError: there is no text, or the numbers differ.
    """
    if not texts:
        raise TextError("texts is an empty list; give at least one text.")
    seconds = [pairs] * len(texts) if isinstance(pairs, str) else pairs
    for name, column in (("gold", gold), ("pair", seconds)):
        if column is not None and len(column) != len(texts):
            raise TextError(f"texts is a list of {len(texts):,} and {name} one of {len(column):,}; give one for each.")
    return list(texts), None if gold is None else list(gold), None if seconds is None else list(seconds)


def written(
    texts: Sequence[str | float | PathLike[str]], with_numbers: bool, with_paths: bool = False
) -> tuple[str, ...]:
    """The texts of a figure, with numbers and paths among them written out.

    Args:
        texts: texts, numbers and paths.
        with_numbers: whether numbers are expected.
        with_paths: whether paths are expected.

    Raises:
        TextError: there is an unexpected number or path.
    """
    inputs: list[str] = []
    for place, each in enumerate(texts):
        if isinstance(each, PathLike) and with_paths:
            inputs.append(fspath(each))
        elif isinstance(each, str):
            inputs.append(each)
        elif with_numbers and not isinstance(each, PathLike):
            inputs.append(repr(float(each)))
        else:
            raise TextError(f"texts[{place}] is {_described(each)}; {_expected(str)} is needed.")
    return tuple(inputs)


def _plain(value: Any, parameter: inspect.Parameter) -> Any:
    """Convert NumPy and pandas values to Python's own."""
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return {key: each.tolist() if hasattr(each, "tolist") else each for key, each in value.items()}
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return tuple(each.tolist() if hasattr(each, "tolist") else each for each in value)
    return value.tolist() if hasattr(value, "tolist") else value


def _arguments(parameter: inspect.Parameter, value: Any) -> Iterable[tuple[str, Any]]:
    """Names and values passed for a parameter: several for *args and **kwargs."""
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return [(f"{parameter.name}[{place}]", each) for place, each in enumerate(value)]
    return value.items() if parameter.kind is inspect.Parameter.VAR_KEYWORD else [(parameter.name, value)]


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value matches an annotation; supports the annotations used by public methods."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if origin in LISTS:
        element = get_args(hint)[0]
        listed = all(hasattr(value, name) for name in ("__len__", "__iter__", "__getitem__"))
        return listed and not isinstance(value, str | bytes | Mapping) and all(_fits(each, element) for each in value)
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _expected(hint: Any) -> str:
    """Description of an annotation for an error message."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_expected(each) for each in get_args(hint)))
    if origin in LISTS:
        return f"a list of {MANY[get_args(hint)[0]]}"
    if origin is PathLike or hint is PathLike:
        return "a path"
    if hint is Saveable:
        return "an object of transformers"
    return "None" if hint is NoneType else KINDS.get(hint, f"an object of {getattr(hint, '__name__', hint)}")


def _described(value: Any) -> str:
    """Description of the type of a value, without its content."""
    if value is None or isinstance(value, bool):
        return str(value)
    kinds = {str: "a text", bytes: "bytes", int: "a whole number", float: "a number with a fraction", dict: "a dict"}
    if isinstance(value, list | tuple):
        inside = dict.fromkeys(_described(each) for each in value[:SHOWN])
        return f"a {type(value).__name__} of {len(value):,}" + (f" ({', '.join(inside)})" if inside else "")
    return kinds.get(type(value), f"an object of {type(value).__name__}")
