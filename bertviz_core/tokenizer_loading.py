"""From a model's source to its tokenizer; no code from a checkpoint is run, no request leaves the machine."""

from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_core.bundled import TOKENIZER_NAMES, verify_bundled
from bertviz_core.errors import CheckpointError
from bertviz_core.lent_files import lent_tokenizer
from bertviz_core.model_files import quietly, tokenizer_folder
from bertviz_core.own_files import present
from bertviz_core.settings import Settings
from bertviz_core.skeleton import BUILD_LOCK, first_line, model_config
from bertviz_core.sources import ModelSource
from bertviz_core.token_limits import token_limit
from bertviz_core.tokenization import TextTokenizer
from bertviz_core.unplugged import unplugged

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase


def load_tokenizer(source: ModelSource, settings: Settings) -> TextTokenizer:
    """The tokenizer of a model; its weights need not be there.

    Raises:
        CheckpointError: the tokenizer is missing, damaged, or needs code or a package that is not here.
    """
    folder = tokenizer_folder(source, settings)
    if source.kind == "bundled":
        verify_bundled(TOKENIZER_NAMES)
    config = model_config(source.name, source.config)
    with BUILD_LOCK, quietly(), lent_tokenizer(folder, source.config) as lent:
        backend = _read(source, lent, config)
        vocabulary = set(type(backend).vocab_files_names.values())
        if vocabulary and not any(present(lent, name) for name in {*vocabulary, "tokenizer.json"}):
            # transformers 5 makes an empty tokenizer where the vocabulary is missing; its every token would be [UNK].
            raise CheckpointError(
                f"{source.name!r} has no vocabulary for its tokenizer ({type(backend).__name__}): "
                f"none of {', '.join(sorted(vocabulary))} is there; put in what tokenizer.save_pretrained writes."
            )
    limit = token_limit(config.to_dict(), int(backend.model_max_length), settings.max_tokens)
    return TextTokenizer(source.name, backend, limit, settings.max_characters)


def _read(source: ModelSource, folder: Path, config: "PreTrainedConfig") -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    _tell_base(config, source.config.get("_name_or_path"))
    try:
        with unplugged():
            backend: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
                str(folder), config=config, local_files_only=True, trust_remote_code=False
            )
    except ImportError as error:
        raise CheckpointError(
            f"The tokenizer of {source.name!r} needs a package that is not installed here: {first_line(error)}"
        ) from error
    except Exception as error:  # the library raises whatever a damaged file leads to
        why = first_line(error, {str(folder): source.name})
        raise CheckpointError(
            f"The tokenizer of {source.name!r} cannot be read: {why} "
            "Put in the files that tokenizer.save_pretrained writes (code from a checkpoint is never run)."
        ) from error
    return backend


def _tell_base(config: "PreTrainedConfig", base: Any) -> None:
    """Name the model that a config was made from where transformers knows that its tokenizer is of another class."""
    from transformers.models.auto.tokenization_auto import MODEL_IDS_TO_TOKENIZERS_BACKEND

    if isinstance(base, str) and any(fnmatch(base.lower(), known) for known in MODEL_IDS_TO_TOKENIZERS_BACKEND):
        config._name_or_path = base
