"""Load a tokenizer with transformers from sanitized copies of its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.offline import unplugged
from bertviz_core.isolation.regular_files import present
from bertviz_core.isolation.sanitized.entries import described
from bertviz_core.isolation.sanitized.tokenizer import SERIALIZED, sanitized_tokenizer_folder
from bertviz_core.lazy_imports import transformers
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.models.skeleton import BUILD_LOCK, model_config, names_a_tokenizer, quietly, set_base_name
from bertviz_core.text import first_line, quoted

NO_LIMIT = 10**30
"""Value of model_max_length for a tokenizer without a limit."""

ID_NAMES = tuple(f"{role}_token_id" for role in ("unk", "bos", "eos", "cls", "sep", "pad", "mask"))


def read_backend(
    name: str, folder: Path, raw_config: Mapping[str, Any], own: bool = False
) -> "transformers.PreTrainedTokenizerBase":
    """Load the tokenizer of a folder from sanitized copies of its files.

    Args:
        own: whether tokenizer.json is read as it is, where AutoTokenizer may build another tokenizer from it.
    """
    weighted = (
        raw_config.get("one_weight") is True
    )  # of a static model that AutoTokenizer reads, without special tokens
    static = raw_config.get("model_type") == STATIC_TYPE and not weighted
    if (own or static) and not present(folder, SERIALIZED):
        advice = "put in" if static else "leave out the end of its name, which asks for"
        raise CheckpointError(f"{name!r} has no {SERIALIZED}; {advice} that file.")
    config = model_config(name, raw_config)
    with BUILD_LOCK, quietly(), sanitized_tokenizer_folder(folder, raw_config) as copies:
        backend = _from_pretrained(name, raw_config, copies, config, own or static)
        backend = _of_file(copies, backend, static) if own or static else backend
        if weighted:
            backend = _without_special(name, backend)
        vocabulary = set(type(backend).vocab_files_names.values())
        if vocabulary and not any(present(copies, file) for file in {*vocabulary, "tokenizer.json"}):
            # transformers 5 would create an empty tokenizer, whose every token is [UNK].
            raise CheckpointError(
                f"{name!r} has no vocabulary for its tokenizer ({type(backend).__name__}): "
                f"none of {', '.join(sorted(vocabulary))} is there; put in what tokenizer.save_pretrained writes."
            )
    _check_length(name, backend)
    _check_special(name, backend)
    return backend


def _without_special(name: str, backend: Any) -> "transformers.PreTrainedTokenizerBase":
    """A tokenizer that adds no special tokens to a text (add_special_tokens=False)."""
    if not backend.is_fast:
        raise CheckpointError(
            f"The tokenizer of {name!r} is {type(backend).__name__}, which is written in Python and adds special "
            f"tokens; a table of weights is read without them: put in a {SERIALIZED}."
        )
    backend.backend_tokenizer.post_processor = None
    without: transformers.PreTrainedTokenizerBase = backend
    return without


def _of_file(folder: Path, backend: Any, static: bool) -> "transformers.PreTrainedTokenizerBase":
    """The tokenizer of tokenizer.json alone, with the limits of another and its special tokens that are in the file.

    That of a static model adds no tokens to a text, and has the length of the file, as sentence-transformers reads it.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / SERIALIZED))
    if static:
        cut = tokenizer.truncation or {"max_length": NO_LIMIT, "direction": "right"}
        backend.model_max_length, backend.truncation_side = cut["max_length"], cut["direction"]
        backend.unk_token = getattr(tokenizer.model, "unk_token", None)
        tokenizer.post_processor = None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    roles = {role.removesuffix("_id"): str(getattr(backend, role.removesuffix("_id")) or "") for role in ID_NAMES}
    own: transformers.PreTrainedTokenizerBase = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=backend.model_max_length,
        padding_side=backend.padding_side,
        truncation_side=backend.truncation_side,
        model_input_names=backend.model_input_names,
        **{role: token for role, token in roles.items() if tokenizer.token_to_id(token) is not None},
    )
    return own


def _check_length(name: str, backend: Any) -> None:
    """Convert model_max_length to an int; tokenizer_config.json may have 512.0, Infinity or [1]."""
    longest = backend.model_max_length
    whole = int(min(longest, NO_LIMIT)) if isinstance(longest, int | float) and longest >= 1 else 0
    if isinstance(longest, bool) or not whole:
        raise CheckpointError(
            f"The tokenizer of {name!r} has {described(longest)} as model_max_length; a number of 1 or more is needed: "
            "correct tokenizer_config.json."
        )
    backend.model_max_length = whole


def _check_special(name: str, backend: Any) -> None:
    """Look up the special tokens once: an unknown token that is not in the vocabulary leads to endless recursion."""
    try:
        _ = [getattr(backend, role) for role in ID_NAMES], backend.all_special_ids
    except Exception as error:  # a RecursionError, or whatever else this leads to
        raise CheckpointError(
            f"The tokenizer of {name!r} has {quoted(str(backend.unk_token), 40)} as its unknown token, which is not in "
            "its vocabulary; correct tokenizer_config.json."
        ) from error


def _from_pretrained(
    name: str, raw_config: Mapping[str, Any], folder: Path, config: "transformers.PreTrainedConfig", own: bool
) -> "transformers.PreTrainedTokenizerBase":
    _set_base_model(config, raw_config.get("_name_or_path"))
    try:
        with unplugged():
            auto: Any = transformers.PreTrainedTokenizerFast if own else transformers.AutoTokenizer
            options = {} if own else {"config": config}
            backend: transformers.PreTrainedTokenizerBase = auto.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False, **options
            )
    except ImportError as error:
        raise CheckpointError(
            f"The tokenizer of {name!r} needs a package that is not installed here: {first_line(error)}"
        ) from error
    except Exception as error:  # a damaged file may lead to any exception
        why = first_line(error, {str(folder): name})
        raise CheckpointError(
            f"The tokenizer of {name!r} cannot be read: {why.rstrip('.')}. "
            "Put in the files that tokenizer.save_pretrained writes (code from a checkpoint is never run)."
        ) from error
    if not isinstance(backend, transformers.PreTrainedTokenizerBase):  # such as RAG's, which is a pair of tokenizers
        raise CheckpointError(
            f"The tokenizer of {name!r} is a {quoted(type(backend).__name__, 40)}, which no text can be given to here; "
            "use one that reads a single vocabulary."
        )
    return backend


def _set_base_model(config: "transformers.PreTrainedConfig", base: Any) -> None:
    """Set the base model of a config if transformers selects the tokenizer class by it."""
    if isinstance(base, str) and names_a_tokenizer(base):
        set_base_name(config, base)


def continuing_prefix(backend: Any) -> str:
    """Prefix of tokens that continue a word, such as ##; "" if the vocabulary has none."""
    own = getattr(backend, "continuing_subword_prefix", None)
    if own is None:
        model = getattr(getattr(backend, "backend_tokenizer", None), "model", None)
        own = getattr(model, "continuing_subword_prefix", None)
    return own if isinstance(own, str) else ""
