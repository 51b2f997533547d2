"""Model objects of the caller, and arguments of the public methods."""

import copy
import inspect
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints, runtime_checkable

from bertviz_core.errors import BertvizError, CheckpointError, TextError
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.opened import ModelCopy, OpenedModel
from bertviz_core.settings import Settings
from bertviz_core.text import first_line, shortened

SENTENCE_SETTINGS = ("prompts", "default_prompt_name", "similarity_fn_name", "max_seq_length", "truncate_dim")
"""Settings of a model of sentence-transformers itself, which it writes into files and which can be set anew."""

MOST_SHOWN = 200
"""Maximum number of characters of a list of ids that are shown."""
PROBE_TEXTS = ("The bank of the river, 1 Café.", "abc")
"""Texts for which a tokenizer and its copy must have the same ids."""


@runtime_checkable
class Saveable(Protocol):
    """A model or tokenizer of transformers with save_pretrained."""

    def save_pretrained(self, save_directory: str, /) -> Any:
        """Write its files to a folder."""


class SavedModel(ModelCopy):
    """A temporary folder with a copy of a model, removed when it is no longer referenced."""

    def __init__(self, name: str, folder: Path, place: "tempfile.TemporaryDirectory[str] | None" = None) -> None:
        self.name = name
        """Class name of the model."""
        self._folder, self._place = folder, place

    def __reduce__(self) -> tuple[type["SavedModel"], tuple[str, Path]]:
        """Pickle by the path of the folder, which exists as long as the saving process references it."""
        return SavedModel, (self.name, self._folder)

    @property
    def folder(self) -> Path:
        """Path of the folder."""
        if not self._folder.is_dir():
            raise CheckpointError(
                f"The model behind this result was an object ({self.name}) of a program that has ended; its numbers "
                "are all here, and for figures open the model again and repeat the question."
            )
        return self._folder


class OwnModel:
    """A model object of the caller, which is copied again when its weights, settings or tokenizer have changed."""

    def __init__(self, model: Saveable, tokenizer: Saveable | None) -> None:
        """Check the objects and make the first copy.

        Args:
            model: a model of transformers, with or without a head, one of sentence-transformers, or a PeftModel whose
                adapters can be merged into the weights.
            tokenizer: the tokenizer of a model of transformers; one of sentence-transformers has its own.
        """
        _require_types(model, tokenizer)
        self._model: Any = model
        self._tokenizer = tokenizer
        self.saved = self._copy()
        """The newest copy."""
        self._state = self._fingerprint()  # after save_pretrained, which writes class and dtype into the config

    @property
    def device(self) -> str | None:
        """The device on which the object is, where it is not the CPU."""
        device = str(self._model.device)
        return None if device == "cpu" else device

    def changed(self) -> bool:
        """Whether a weight, a setting or the tokenizer differs from the newest copy; if so, make another copy."""
        if self._fingerprint() == self._state:
            return False
        self.saved = self._copy()
        self._state = self._fingerprint()
        return True

    def check_tokenizer(self, copy: OpenedModel) -> None:
        """Compare the ids of some texts with those of the tokenizer in the newest copy."""
        tokenizer = self._tokenizer
        if not isinstance(tokenizer, transformers.PreTrainedTokenizerBase):
            return
        for text in PROBE_TEXTS:
            own = _own_ids(tokenizer, text)
            with suppress(TextError):  # one that needs more than a text is refused with a text
                saved = None if own is None else copy.tokens(text, None)
                if saved is not None and not any(saved.tokens_cut) and own != saved.input_ids.tolist():
                    raise CheckpointError(
                        f"The tokenizer ({type(tokenizer).__name__}) makes the ids {shortened(str(own), MOST_SHOWN)} "
                        f"of {text!r}, and the files that its save_pretrained writes make "
                        f"{shortened(str(saved.input_ids.tolist()), MOST_SHOWN)}; give a tokenizer whose files do all "
                        "that it does."
                    )

    def _fingerprint(self) -> int:
        """CRC-32 of all settings, the state of adapters, and all names, shapes, types and bytes of the weights."""
        state: Mapping[str, Any] = self._model.state_dict()
        parts = (part for part in self._model.modules() if isinstance(part, transformers.PreTrainedModel))
        digest = zlib.crc32("".join(str(part.config) for part in parts).encode())
        tokenizer = self._tokenizer
        if _of_sentence_transformers(self._model):
            digest = zlib.crc32(_sentence_settings(self._model).encode("utf-8", "surrogatepass"), digest)
            tokenizer = getattr(self._model, "tokenizer", None)
        digest = zlib.crc32(_tokenizer_settings(tokenizer), digest)
        if _is_peft_model(self._model):  # which adapters answer, and how strongly, is no tensor
            scales = [getattr(part, "scaling", None) for part in self._model.modules() if _of_peft(part)]
            digest = zlib.crc32(f"{self._model.get_model_status()} {scales}".encode(), digest)
        for name, value in state.items():
            digest = zlib.crc32(f"{name} {tuple(value.shape)} {value.dtype}".encode(), digest)
            if value.device.type != "meta":
                plain = value.detach().cpu().contiguous().reshape(-1)
                digest = zlib.crc32(plain.view(torch.uint8).numpy(), digest)
        return digest

    def _copy(self) -> SavedModel:
        """Copy the model and its tokenizer to a temporary folder, without changing them."""
        name = type(self._model).__name__
        place = tempfile.TemporaryDirectory(prefix="inside-bert-")
        try:
            with quietly():
                for part in (_without_adapters(self._model), self._tokenizer):
                    if part is not None:
                        part.save_pretrained(place.name)
        except OSError as error:
            raise BertvizError(
                f"The copy of {name} cannot be written into {tempfile.gettempdir()!r} ({error.strerror or error}); "
                "make room there, or set TMPDIR to another folder."
            ) from error
        except Exception as error:  # a model on several devices or without data may lead to any exception
            raise CheckpointError(f"{name} cannot write itself into a folder: {first_line(error)}") from error
        return SavedModel(name, Path(place.name), place)


def _own_ids(tokenizer: Any, text: str) -> Any:
    """The ids of a text by a tokenizer itself; None for one that needs more than a text."""
    try:
        ids = tokenizer(text).get("input_ids")
    except (TypeError, ValueError):
        return None
    except Exception as error:  # a class of the caller may raise anything
        raise CheckpointError(
            f"The tokenizer ({type(tokenizer).__name__}) cannot read {text!r}: {first_line(error)}."
        ) from error
    return list(ids) if isinstance(ids, Iterable) else ids or "none"


def own_objects(name: Any, task: Any, tokenizer: Any) -> tuple[Any, Any, Any]:
    """The model, the task and the tokenizer, in whichever order they came.

    The tokenizer may be the second argument, as for a pipeline, or the first, and may be inside a processor; the model
    may be inside a pipeline or a wrapper of torch, such as torch.compile returns.
    """
    tokenizers = (transformers.PreTrainedTokenizerBase, transformers.ProcessorMixin)
    by_name = isinstance(name, str | PathLike)
    is_tokenizer = hasattr(task, "save_pretrained") or not (by_name or isinstance(task, str | None))
    if is_tokenizer and tokenizer is not None:
        raise TextError(
            f"The second argument is an object of {type(task).__name__} and tokenizer one of "
            f"{type(tokenizer).__name__}; give the model, the task as a text, and one tokenizer."
        )
    if is_tokenizer:
        task, tokenizer = None, task
    if isinstance(name, transformers.Pipeline):
        name, tokenizer = name.model, tokenizer or name.tokenizer
    if isinstance(name, tokenizers) and not isinstance(tokenizer, tokenizers):
        name, tokenizer = tokenizer, name
    if isinstance(tokenizer, transformers.ProcessorMixin):
        tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    while type(name).__module__.partition(".")[0] == "torch" and isinstance(name, torch.nn.Module):
        inside = list(name.children())
        if len(inside) != 1:
            break
        (name,) = inside
    return name, task, tokenizer


def _require_types(model: Saveable, tokenizer: Saveable | None) -> None:
    name = type(model).__name__
    merges = _is_peft_model(model)
    if not merges and isinstance(model, torch.nn.Module) and any(map(_of_peft, model.modules())):
        raise TextError(
            f"{name} has an adapter of peft inside that cannot be merged from here; open a PeftModel of LoRA, as "
            "get_peft_model returns, the result of its merge_and_unload(), or the folder of the saved adapter."
        )
    if _of_sentence_transformers(model):
        if tokenizer is not None:
            raise TextError(f"A {name} of sentence-transformers has its own tokenizer; leave tokenizer out.")
        return
    if not merges and not isinstance(model, transformers.PreTrainedModel):
        raise TextError(
            f"name is an object of {name}, which is no model of transformers or sentence-transformers; give a "
            "PreTrainedModel, such as AutoModel.from_pretrained returns, or the name or folder of a model."
        )
    if not isinstance(tokenizer, transformers.PreTrainedTokenizerBase):
        came = "none was given" if tokenizer is None else f"an object of {type(tokenizer).__name__} was given"
        raise TextError(
            f"A model object needs a tokenizer of transformers, and {came}: open_model(model, tokenizer=tokenizer)."
        )


def _is_peft_model(model: Saveable) -> bool:
    """Whether it is a PeftModel whose adapters can be merged; the kinds that prepend a prompt have no such method."""
    return _of_peft(model) and callable(getattr(model, "merge_and_unload", None))


def _without_adapters(model: Any) -> Any:
    """The model itself; of a PeftModel a copy with its active adapters merged, or left out where they are disabled."""
    if not _is_peft_model(model):
        return model
    enabled = model.get_model_status().enabled
    return copy.deepcopy(model).merge_and_unload() if enabled else copy.deepcopy(model).unload()


def _of_sentence_transformers(model: Saveable) -> bool:
    """Whether the class is one of sentence-transformers, which need not be installed here."""
    return _of_package(model, "sentence_transformers")


def _sentence_settings(model: Any) -> str:
    """What a model of sentence-transformers writes into its settings beside configs and weights."""
    own = [getattr(model, name, None) for name in SENTENCE_SETTINGS]
    return str([own, *(part.get_config_dict() for part in model.children() if hasattr(part, "get_config_dict"))])


def _tokenizer_settings(tokenizer: Any) -> bytes:
    """What can be changed of a tokenizer after it was made; its vocabulary only grows, by added tokens."""
    if not isinstance(tokenizer, transformers.PreTrainedTokenizerBase):
        return b""
    own = [
        tokenizer.model_max_length,
        tokenizer.special_tokens_map,
        tokenizer.added_tokens_decoder,
        tokenizer.init_kwargs,
    ]
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)  # only tokenizers in Rust have one
    steps = [backend.normalizer, backend.pre_tokenizer, backend.post_processor] if backend is not None else []
    return str([*own, *map(repr, steps)]).encode("utf-8", "surrogatepass")


def _of_peft(part: object) -> bool:
    """Whether the class is one of peft, which need not be installed either."""
    return _of_package(part, "peft")


def _of_package(part: object, package: str) -> bool:
    return any(each.__module__.partition(".")[0] == package for each in type(part).__mro__)


class LibraryModel(OpenedModel):
    """An opened model that uses the settings of the process in which it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        """Pickle by name; the copy loads the model on first use."""
        return library_model, (self.name, self.task, self.device, self.copy)


def library_model(
    name: str, task: str | None = None, device: str | None = None, copy: ModelCopy | None = None
) -> LibraryModel:
    """Open a model by name with the settings of the environment; any folder is permitted."""
    return LibraryModel(name, Settings.from_environment(any_folder=True), task, device, copy)


Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Texts = list[str] | tuple[str, ...]
"""Several texts; NumPy arrays and pandas series are also accepted."""
OneOrTwo = str | Sequence[str]
"""A text, or two texts in a list."""
KINDS: Mapping[Any, str] = {str: "a text", int: "a whole number", float: "a number", bool: "True or False"}
MANY: Mapping[Any, str] = {
    str: "texts",
    int: "whole numbers",
    Sequence[str]: "pairs of texts",
    Sequence[str | int]: "lists of texts or whole numbers",
    OneOrTwo: "texts or pairs of texts",
}
LISTS = (Sequence, list, tuple)
"""Annotations for which any sequence except a text is accepted."""
SHOWN = 3
"""Number of elements of a list whose types are named in an error message."""


def checked(method: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorate a method to check the types of its arguments before it runs.

    NumPy numbers are accepted as numbers, and any ordered collection except a text as a sequence.
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
    """Pair each text with its second text: one for all texts, one for each, or None."""
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
    """Texts, their gold labels and their second texts, of equal number."""
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
    if value is None or isinstance(value, bool):
        return str(value)
    kinds = {str: "a text", bytes: "bytes", int: "a whole number", float: "a number with a fraction", dict: "a dict"}
    if isinstance(value, list | tuple):
        inside = dict.fromkeys(_described(each) for each in value[:SHOWN])
        return f"a {type(value).__name__} of {len(value):,}" + (f" ({', '.join(inside)})" if inside else "")
    return kinds.get(type(value), f"an object of {type(value).__name__}")
