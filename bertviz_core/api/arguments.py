"""What a caller hands to a public method, compared with the types that the method declares."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from bertviz_core.api.own_model import Saveable
from bertviz_core.errors import TextError

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Texts = list[str] | tuple[str, ...]
"""Several texts; a NumPy array or a pandas series is accepted as a list."""
WANTED: Mapping[Any, str] = {str: "a text", int: "a whole number", float: "a number", bool: "True or False"}
MANY: Mapping[Any, str] = {str: "texts", int: "whole numbers"}
LISTS = (Sequence, list, tuple)
"""Declared types for which anything will do that has a length and an order, but for a text."""
SHOWN = 3
"""Elements of a list that are looked at to say what it holds."""


def checked(method: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """A method that refuses arguments of other types than it declares, before it does anything.

    Numbers may be NumPy's; where a sequence is declared anything with a length and an order will do, but for a text.

    Raises:
        TextError: names the argument, what came and what is needed.
    """
    signature = inspect.signature(method)
    hints: dict[str, Any] = {}

    @wraps(method)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        if not hints:
            hints.update(get_type_hints(method))
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            for given_name, given in _given(signature.parameters[name], value):
                if name in hints and not _fits(given, hints[name]):
                    raise TextError(f"{given_name} is {_said(given)}; {_wanted(hints[name])} is needed.")
            bound.arguments[name] = _plain(value, signature.parameters[name])
        return method(*bound.args, **bound.kwargs)

    return call


def paired(texts: str | Sequence[str], pairs: str | Sequence[str] | None) -> list[tuple[str, str | None]]:
    """Each text with its second text: one for all texts, one for each, or none.

    Raises:
        TextError: there are not as many second texts as texts.
    """
    if isinstance(texts, str):
        if pairs is not None and not isinstance(pairs, str):
            raise TextError(f"pair is {_said(pairs)} and text is one text; give one second text, or two lists.")
        return [(texts, pairs)]
    if pairs is None or isinstance(pairs, str):
        return [(text, pairs) for text in texts]
    if len(texts) != len(pairs):
        raise TextError(f"text is a list of {len(texts):,} and pair one of {len(pairs):,}; give a pair for each text.")
    return list(zip(texts, pairs, strict=True))


def _plain(value: Any, parameter: inspect.Parameter) -> Any:
    """What came, numbers and arrays of NumPy and pandas as Python's own."""
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return {key: each.tolist() if hasattr(each, "tolist") else each for key, each in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _given(parameter: inspect.Parameter, value: Any) -> Iterable[tuple[str, Any]]:
    """Names and values of what came for a parameter: several for *args and **kwargs."""
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return [(f"{parameter.name}[{place}]", each) for place, each in enumerate(value)]
    return value.items() if parameter.kind is inspect.Parameter.VAR_KEYWORD else [(parameter.name, value)]


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as public methods declare types."""
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


def _wanted(hint: Any) -> str:
    """A type in words."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_wanted(each) for each in get_args(hint)))
    if origin in LISTS:
        return f"a list of {MANY[get_args(hint)[0]]}"
    if origin is PathLike or hint is PathLike:
        return "a path"
    if hint is Saveable:
        return "an object of transformers"
    return "None" if hint is NoneType else WANTED.get(hint, f"an object of {getattr(hint, '__name__', hint)}")


def _said(value: Any) -> str:
    """A value in words: what it is, and not what stands in it."""
    if value is None or isinstance(value, bool):
        return str(value)
    kinds = {str: "a text", bytes: "bytes", int: "a whole number", float: "a number with a fraction", dict: "a dict"}
    if isinstance(value, list | tuple):
        inside = dict.fromkeys(_said(each) for each in value[:SHOWN])
        return f"a {type(value).__name__} of {len(value):,}" + (f" ({', '.join(inside)})" if inside else "")
    return kinds.get(type(value), f"an object of {type(value).__name__}")
