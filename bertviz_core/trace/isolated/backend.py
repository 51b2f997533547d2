"""Transformers' tokenizer of a model's folder, from cleaned copies of its files: read here, or in a child."""

from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.offline import unplugged
from bertviz_core.isolation.regular_files import present
from bertviz_core.isolation.sanitized.entries import described
from bertviz_core.isolation.sanitized.tokenizer_files import sanitized_tokenizer_folder
from bertviz_core.models.skeleton import BUILD_LOCK, model_config, quietly
from bertviz_core.models.transformers_internals import set_base_name
from bertviz_core.text import first_line, quoted

NO_LIMIT = 10**30
"""What a tokenizer without a limit says that it reads."""

ID_NAMES = tuple(f"{role}_token_id" for role in ("unk", "bos", "eos", "cls", "sep", "pad", "mask"))

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase


def read_backend(name: str, folder: Path, raw_config: Mapping[str, Any]) -> "PreTrainedTokenizerBase":
    """Transformers' tokenizer of a folder, read from cleaned copies of its files.

    Args:
        name: the model's name, for messages.
        folder: the model's own folder.
        raw_config: its config.json.

    Raises:
        CheckpointError: the tokenizer is damaged, says how much it reads by something else than a number, or needs
            code or a package that is not here.
    """
    config = model_config(name, raw_config)
    with BUILD_LOCK, quietly(), sanitized_tokenizer_folder(folder, raw_config) as lent:
        backend = _from_pretrained(name, raw_config, lent, config)
        vocabulary = set(type(backend).vocab_files_names.values())
        if vocabulary and not any(present(lent, file) for file in {*vocabulary, "tokenizer.json"}):
            # transformers 5 makes an empty tokenizer where the vocabulary is missing; its every token would be [UNK].
            raise CheckpointError(
                f"{name!r} has no vocabulary for its tokenizer ({type(backend).__name__}): "
                f"none of {', '.join(sorted(vocabulary))} is there; put in what tokenizer.save_pretrained writes."
            )
    _check_length(name, backend)
    _check_special(name, backend)
    return backend


def _check_length(name: str, backend: Any) -> None:
    """Have the tokenizer's own limit as a whole number, whatever tokenizer_config.json says: 512.0, Infinity, [1]."""
    longest = backend.model_max_length
    whole = int(min(longest, NO_LIMIT)) if isinstance(longest, int | float) and longest >= 1 else 0
    if isinstance(longest, bool) or not whole:
        raise CheckpointError(
            f"The tokenizer of {name!r} has {described(longest)} as model_max_length; a number of 1 or more is needed: "
            "correct tokenizer_config.json."
        )
    backend.model_max_length = whole


def _check_special(name: str, backend: Any) -> None:
    """Ask for the ids of the special tokens once: an unknown token that is none itself is looked up without end."""
    try:
        _ = [getattr(backend, role) for role in ID_NAMES], backend.all_special_ids
    except Exception as error:  # whatever the library raises on its way
        raise CheckpointError(
            f"The tokenizer of {name!r} has {quoted(str(backend.unk_token), 40)} as its unknown token, which is not in "
            "its vocabulary; correct tokenizer_config.json."
        ) from error


def _from_pretrained(
    name: str, raw_config: Mapping[str, Any], folder: Path, config: "PreTrainedConfig"
) -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer, PreTrainedTokenizerBase

    _set_base_model(config, raw_config.get("_name_or_path"))
    try:
        with unplugged():
            backend: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
                str(folder), config=config, local_files_only=True, trust_remote_code=False
            )
    except ImportError as error:
        raise CheckpointError(
            f"The tokenizer of {name!r} needs a package that is not installed here: {first_line(error)}"
        ) from error
    except Exception as error:  # the library raises whatever a damaged file leads to
        why = first_line(error, {str(folder): name})
        raise CheckpointError(
            f"The tokenizer of {name!r} cannot be read: {why} "
            "Put in the files that tokenizer.save_pretrained writes (code from a checkpoint is never run)."
        ) from error
    if not isinstance(backend, PreTrainedTokenizerBase):  # such as RAG's, which is two of them
        raise CheckpointError(
            f"The tokenizer of {name!r} is a {quoted(type(backend).__name__, 40)}, which no text can be given to here; "
            "use one that reads a single vocabulary."
        )
    return backend


def _set_base_model(config: "PreTrainedConfig", base: Any) -> None:
    """Name the model that a config was made from where transformers knows that its tokenizer is of another class."""
    from transformers.models.auto.tokenization_auto import MODEL_IDS_TO_TOKENIZERS_BACKEND

    if isinstance(base, str) and any(fnmatch(base.lower(), known) for known in MODEL_IDS_TO_TOKENIZERS_BACKEND):
        set_base_name(config, base)


def continuing_prefix(backend: Any) -> str:
    """What a vocabulary writes in front of a piece that continues a word, such as ##; "" where it marks the others."""
    own = getattr(backend, "continuing_subword_prefix", None)
    if own is None:
        model = getattr(getattr(backend, "backend_tokenizer", None), "model", None)
        own = getattr(model, "continuing_subword_prefix", None)
    return own if isinstance(own, str) else ""
