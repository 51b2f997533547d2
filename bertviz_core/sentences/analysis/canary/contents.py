"""What a canary records of a model: tokens, vectors, recipe, files, versions."""

import hashlib
import platform
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bertviz_core.errors import BertvizError, Progress, TextError, no_progress
from bertviz_core.isolation.regular_files import ADAPTER_CONFIG, CONFIG_FILE, MODULES_FILE, opened, present
from bertviz_core.isolation.sanitized.tokenizer import ADDED, SERIALIZED, TOKENIZER_FILES_SETTINGS, VOCABULARIES
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel, device_kind
from bertviz_core.models.local_files import modules_folder, tokenizer_folder, weights_folder
from bertviz_core.models.receipt import PROMPTS_FILE
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS, SINGLE_FILE, weight_files
from bertviz_core.models.sentence_folder import LENGTH_FILES, listed_modules
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.analysis.canary.results import (
    VECTOR_FORMAT,
    Canary,
    CanaryDense,
    CanaryFile,
    CanaryRecipe,
    CanaryText,
    FileKind,
)
from bertviz_core.sentences.encoding import limited, plan_layer, read_text, sentence_vectors
from bertviz_core.sentences.results import SentenceDtype, SentencePlan
from bertviz_core.sentences.two_models import require_finite
from bertviz_core.settings import Settings
from bertviz_core.text import repair_surrogates
from bertviz_core.trace.isolated.file_tokenizer import SAMPLES
from bertviz_core.trace.tokenization import TextTokenizer, check_ids
from bertviz_core.version import __version__

FORMAT, FORMAT_VERSION = "Inside BERT canary", 1
MAX_TEXTS, MAX_DIMENSIONS = 10_000, 100_000
STEP = 7
"""Every so many sample texts are among the texts of a canary."""
TEXTS: tuple[str, ...] = (*SAMPLES[::STEP], " ".join(SAMPLES))
"""The texts of a canary by default: of many scripts, and a last one that most models cut off."""
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
PROGRAM = "inside-bert"
TOKENIZER_FILES = (SERIALIZED, *TOKENIZER_FILES_SETTINGS, ADDED, *VOCABULARIES)
BASE = "base/"
"""Beginning of the names of files of an adapter's base."""
RUN_DTYPE: SentenceDtype = "float32"


class CanaryInputs(NamedTuple):
    """A model with all that decides its vectors."""

    source: ModelSource
    settings: Settings
    loaded: LoadedModel
    tokenizer: TextTokenizer
    plan: SentencePlan


def canary_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts of a canary, each once, checked; the default ones for an empty list."""
    chosen = tuple(dict.fromkeys(map(repair_surrogates, texts))) or TEXTS
    if len(chosen) > MAX_TEXTS:
        raise TextError(f"A canary has at most {MAX_TEXTS:,} texts, and {len(chosen):,} came; give a part of them.")
    return chosen


def make_canary(
    inputs: CanaryInputs, texts: Sequence[str], read_as: CanaryRecipe | None = None, progress: Progress = no_progress
) -> tuple[Canary, tuple[str, ...]]:
    """Run a model on texts; return its canary, and notices.

    Args:
        inputs: the model.
        texts: different texts, at least one.
        read_as: recipe whose prompt and case the tokens follow, so that tokens of two canaries differ by the tokenizer
            alone; None for the recipe of the model. The vectors follow that of the model.
        progress: called as progress(done, total) in texts.
    """
    source, settings, loaded, tokenizer, plan = inputs
    made = sentence_vectors(loaded, tokenizer, texts, plan, RUN_DTYPE, progress)
    recipe = recipe_of(inputs)
    ids = whole_ids(tokenizer, texts, read_as or recipe)
    rows = zip(texts, ids, made.vectors.astype(VECTOR_FORMAT), strict=True)
    canary = Canary(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        code_version=__version__,
        model=loaded.name,
        revision=loaded.revision,
        recipe=recipe,
        files=model_files(source, settings),
        versions=versions(loaded.device),
        texts=tuple(CanaryText(text, row, tokenizer.spelled(row), vector.tobytes()) for text, row, vector in rows),
    )
    return canary, made.notices


def check_finite(canary: Canary) -> None:
    """Refuse to keep vectors with NaN or infinity, with which nothing can be compared."""
    require_finite(canary.model, canary.vectors)


def recipe_of(inputs: CanaryInputs) -> CanaryRecipe:
    """The recipe of a model's vectors."""
    plan, tokenizer = inputs.plan, inputs.tokenizer
    dense = (
        CanaryDense(each.weight.shape[1], each.weight.shape[0], each.bias is not None, each.activation)
        for each in plan.dense
    )
    return CanaryRecipe(
        tokenizer="tokenizer.json" if inputs.source.own_tokenizer else "AutoTokenizer",
        prompt=plan.prompt,
        include_prompt=plan.include_prompt,
        lower_case=plan.lower_case,
        max_tokens=limited(tokenizer, plan).limit.tokens,
        layer=plan_layer(inputs.loaded, plan),
        pooling=plan.pooling,
        dense=tuple(dense),
        normalized=plan.normalize,
        truncate_dim=plan.truncate_dim,
        run_dtype=RUN_DTYPE,
    )


def whole_ids(tokenizer: TextTokenizer, texts: Sequence[str], recipe: CanaryRecipe) -> list[tuple[int, ...]]:
    """Token ids of texts with the prompt and case of a recipe, before they are cut off."""
    plan = SentencePlan("mean", prompt=recipe.prompt, lower_case=recipe.lower_case)
    read = [read_text(plan, text) for text in texts]
    try:
        with tokenizer.lock:
            rows = tokenizer.tokenizer(read, truncation=False, verbose=False)["input_ids"]
    except BertvizError:
        raise
    except Exception as error:  # tokenizers raises undocumented errors
        raise TextError(f"The tokenizer of {tokenizer.name!r} cannot read these texts: {error}") from error
    for row in rows:
        check_ids(tokenizer.name, row)
    return [tuple(map(int, row)) for row in rows]


def versions(device: str) -> dict[str, str]:
    """Versions of the libraries, and the machine that computes: other machines round otherwise."""
    on_gpu = device_kind(device) == "cuda"
    return {
        PROGRAM: __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "platform": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name(device) if on_gpu else device_kind(device),
        "processor": torch.backends.cpu.get_cpu_capability(),
    }


class _Row(NamedTuple):
    """A file before it is read."""

    kind: FileKind
    folder: Path
    name: str
    """Path in the folder."""


def model_files(source: ModelSource, settings: Settings) -> tuple[CanaryFile, ...]:
    """The files that decide the numbers of a model, with their digests, by name."""
    rows = dict(_files(source, settings) if source.adapter is None else _adapter_files(source, settings))
    return tuple(CanaryFile(name, row.kind, _sha256(row.folder, row.name)) for name, row in sorted(rows.items()))


def _files(source: ModelSource, settings: Settings) -> Iterator[tuple[str, _Row]]:
    """Name -> file of a whole model: its weights, config, recipe and tokenizer."""
    encoder, folder = weights_folder(source, settings), modules_folder(source, settings)
    inside = "" if encoder == folder else f"{encoder.relative_to(folder).as_posix()}/"
    for name in weight_files(encoder):
        yield f"{inside}{name}", _Row("weights", encoder, name)
    yield from _there("config", encoder, (CONFIG_FILE,), inside)
    yield from _there("recipe", encoder, LENGTH_FILES, inside)
    yield from _there("recipe", folder, (MODULES_FILE, PROMPTS_FILE))
    after_encoder = [module for _, module in (listed_modules(folder, source.way) or ())[1:] if module != "."]
    yield from _there("recipe", folder, [f"{module}/{CONFIG_FILE}" for module in after_encoder])
    yield from _there("weights", folder, [f"{module}/{SINGLE_FILE}" for module in after_encoder])
    yield from _there("tokenizer", tokenizer_folder(source, settings), TOKENIZER_FILES, inside)


def _adapter_files(source: ModelSource, settings: Settings) -> Iterator[tuple[str, _Row]]:
    """Name -> file of an adapter and of its base."""
    if source.adapter is None or source.folder is None:
        return
    folder, has_tokenizer = source.folder, tokenizer_folder(source, settings) == source.folder
    yield from _there("weights", folder, (ADAPTER_WEIGHTS,))
    yield from _there("config", folder, (ADAPTER_CONFIG,))
    yield from _there("tokenizer", folder, TOKENIZER_FILES if has_tokenizer else ())
    for name, row in _files(source.adapter.base, settings):
        if not (has_tokenizer and row.kind == "tokenizer"):
            yield f"{BASE}{name}", row


def _there(kind: FileKind, folder: Path, names: Iterable[str], inside: str = "") -> Iterator[tuple[str, _Row]]:
    return ((f"{inside}{name}", _Row(kind, folder, name)) for name in names if present(folder, name))


def _sha256(folder: Path, name: str) -> str:
    with opened(folder, name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
