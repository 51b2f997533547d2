"""What may be opened here, and how much: settings from the environment (README, "Configuration")."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from bertviz_core.errors import BertvizError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
HUB_ENDPOINT = "https://huggingface.co"
MAX_MODEL_BYTES = 8 * 1024**3
MAX_TOKENS = 8192
MAX_CHARACTERS = 200_000
MAX_TRACE_BYTES = 3 * 1024**3
MAX_LOADED_BYTES = 4 * 1024**3
MAX_CACHE_BYTES = 1024**3
MAX_STORE_BYTES = 2 * 1024**3
MAX_SENTENCES = 50_000
MAX_QUEUED_RUNS = 100
MAX_TABLE_BYTES = 128 * 1024**2
MAX_BATCH_BYTES = 256 * 1024**2
MAX_GRADIENT_BYTES = 1024**3
MAX_LAYERS = 2048
MAX_LABELS = 100_000
MAX_MODULES = 5_000
"""All but a few mixtures of experts of 7 billion parameters and more, which are too large to be run by default."""
CHILD_BYTES = 1024**3
CHILD_SECONDS = 20
MAX_CHILD_SECONDS, MAX_CHILDREN = 3600, 64
"""What a clock and a machine can do; other limits may be as large as one likes."""
HOST = r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]"
DEVICE = re.compile(r"auto|cpu|mps|cuda(?::[0-9]{1,3})?")
ORIGIN = rf"https?://(?:{HOST})(?::[0-9]{{1,5}})?"
ENDPOINT = re.compile(rf"(?i:https?://(?:{HOST})(?::[0-9]{{1,5}})?(?:/[^\s?#]*)?)")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process."""

    models_dir: Path
    """Folder whose subfolders are local models."""
    allow_hub: bool
    """Whether the Hub may be asked."""
    allowed_models: tuple[str, ...]
    """Names that may be opened; empty for all."""
    hub_endpoint: str
    """Address of the Hub."""
    device: str = "auto"
    """Where models run: auto (a GPU where there is one), cpu, cuda, cuda:1 for the second GPU, or mps."""
    any_folder: bool = False
    """Whether a path may be opened that is not below models_dir (the command line)."""
    max_model_bytes: int = MAX_MODEL_BYTES
    """Bytes that the weights of one model may take in memory."""
    max_tokens: int = MAX_TOKENS
    """Tokens of a text that are given to a model; the rest is cut off, with a notice."""
    max_characters: int = MAX_CHARACTERS
    """Characters that a text may have before it is tokenized."""
    max_trace_bytes: int = MAX_TRACE_BYTES
    """Bytes that the runs kept for all sessions together may take; those used longest ago make room."""
    max_loaded_bytes: int = MAX_LOADED_BYTES
    """Bytes that the models kept in memory may take together; those used longest ago make room, one always stays."""
    max_cache_bytes: int = MAX_CACHE_BYTES
    """Bytes that results, uploads and tokenizers, kept for all sessions, may take together."""
    vector_store_dir: Path = field(default_factory=lambda: _vector_store_dir())
    """Folder in which sentence vectors are kept between runs."""
    max_store_bytes: int = MAX_STORE_BYTES
    """Bytes that the kept sentence vectors may take on disk; those used longest ago make room."""
    max_sentences: int = MAX_SENTENCES
    """Sentences that a list may have."""
    max_queued_runs: int = MAX_QUEUED_RUNS
    """Runs that may wait for their turn; one runs at a time."""
    max_table_bytes: int = MAX_TABLE_BYTES
    """Bytes that the sentences of an uploaded file, and the other columns of any file, may take in memory."""
    max_batch_bytes: int = MAX_BATCH_BYTES
    """Bytes that a batch of interventions may take beside the model; more of them make more batches."""
    max_gradient_bytes: int = MAX_GRADIENT_BYTES
    """Bytes that one run with gradients may take beside the model, by an estimate before it begins."""
    isolate_models: bool = False
    """Whether models that are neither bundled nor in the catalogue are read and tried in processes of their own."""
    max_layers: int = MAX_LAYERS
    """Layers, blocks, groups or experts that a config may ask for in one entry."""
    max_labels: int = MAX_LABELS
    """Labels that a config may name."""
    max_modules: int = MAX_MODULES
    """Modules that are built from a config."""
    child_bytes: int = CHILD_BYTES
    """Bytes of memory that a process may ask for which reads a stranger's file."""
    child_seconds: int = CHILD_SECONDS
    """Seconds of a processor that it may take; three times as many by the clock."""
    max_children: int = field(default_factory=lambda: _cores())
    """Such processes that may run at once."""
    lessons_dir: Path | None = None
    """Folder with lessons of one's own, *.yaml; None for the shipped ones alone."""
    corpora_dir: Path = Path("corpora")
    """Folder whose subfolders are offered as corpora; nothing is written there."""
    require_sign_in: bool = False
    """Whether the dashboard is for those alone who sign in; it then does not start without a complete sign-in."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the dashboard may be asked, `*.` for all below one; empty for any. Loopback always may be."""
    allowed_origins: tuple[str, ...] = ()
    """Origins whose pages may open a session beside the dashboard's own."""
    frame_ancestors: tuple[str, ...] = ("'self'",)
    """Who may show the dashboard in a frame, as the directive of a content security policy says it."""

    @classmethod
    def from_environment(cls, any_folder: bool = False) -> "Settings":
        """Settings from the variables INSIDE_BERT_... (README, "Configuration") and HF_ENDPOINT.

        Raises:
            BertvizError: a switch is neither on nor off, a limit is no count, or an address is none.
        """
        lessons = os.environ.get("INSIDE_BERT_LESSONS_DIR", "")
        return cls(
            models_dir=Path(os.environ.get("INSIDE_BERT_MODELS_DIR", "") or "models"),
            allow_hub=_switch("INSIDE_BERT_ALLOW_HUB", default=True),
            allowed_models=_names("INSIDE_BERT_ALLOWED_MODELS"),
            hub_endpoint=_hub_endpoint(),
            device=_device(),
            any_folder=any_folder,
            max_model_bytes=_limit("INSIDE_BERT_MAX_MODEL_BYTES", MAX_MODEL_BYTES),
            max_tokens=_limit("INSIDE_BERT_MAX_TOKENS", MAX_TOKENS),
            max_characters=_limit("INSIDE_BERT_MAX_CHARACTERS", MAX_CHARACTERS),
            max_trace_bytes=_limit("INSIDE_BERT_MAX_TRACE_BYTES", MAX_TRACE_BYTES),
            max_loaded_bytes=_limit("INSIDE_BERT_MAX_LOADED_BYTES", MAX_LOADED_BYTES),
            max_cache_bytes=_limit("INSIDE_BERT_MAX_CACHE_BYTES", MAX_CACHE_BYTES),
            vector_store_dir=_vector_store_dir(),
            max_store_bytes=_limit("INSIDE_BERT_MAX_STORE_BYTES", MAX_STORE_BYTES),
            max_sentences=_limit("INSIDE_BERT_MAX_SENTENCES", MAX_SENTENCES),
            max_queued_runs=_limit("INSIDE_BERT_MAX_QUEUED_RUNS", MAX_QUEUED_RUNS),
            max_table_bytes=_limit("INSIDE_BERT_MAX_TABLE_BYTES", MAX_TABLE_BYTES),
            max_batch_bytes=_limit("INSIDE_BERT_MAX_BATCH_BYTES", MAX_BATCH_BYTES),
            max_gradient_bytes=_limit("INSIDE_BERT_MAX_GRADIENT_BYTES", MAX_GRADIENT_BYTES),
            isolate_models=_switch("INSIDE_BERT_ISOLATE_MODELS", default=not any_folder),
            max_layers=_limit("INSIDE_BERT_MAX_LAYERS", MAX_LAYERS),
            max_labels=_limit("INSIDE_BERT_MAX_LABELS", MAX_LABELS),
            max_modules=_limit("INSIDE_BERT_MAX_MODULES", MAX_MODULES),
            child_bytes=_limit("INSIDE_BERT_CHILD_BYTES", CHILD_BYTES),
            child_seconds=_limit("INSIDE_BERT_CHILD_SECONDS", CHILD_SECONDS, MAX_CHILD_SECONDS),
            max_children=_limit("INSIDE_BERT_MAX_CHILDREN", _cores(), MAX_CHILDREN),
            lessons_dir=Path(lessons) if lessons else None,
            corpora_dir=Path(os.environ.get("INSIDE_BERT_CORPORA_DIR", "") or "corpora"),
            require_sign_in=_switch("INSIDE_BERT_REQUIRE_SIGN_IN", default=False),
            allowed_hosts=_list("INSIDE_BERT_ALLOWED_HOSTS", HOST, "names such as bert.example.org, without a port"),
            allowed_origins=_list("INSIDE_BERT_ALLOWED_ORIGINS", ORIGIN, "origins such as https://bert.example.org"),
            frame_ancestors=_frame_ancestors(),
        )


def _cores() -> int:
    """Processors of this machine, 4 at most: a reading takes a moment, and memory while it lasts."""
    return min(4, os.cpu_count() or 1)


def _vector_store_dir() -> Path:
    """The folder asked for, or one below the user's cache folder (XDG Base Directory Specification)."""
    asked = _value("INSIDE_BERT_VECTOR_STORE_DIR")
    if asked:
        return Path(asked)
    cache = os.environ.get("XDG_CACHE_HOME", "") or os.path.expanduser("~/.cache")  # noqa: PTH111  # raises nothing
    return Path(cache) / "inside-bert"


def _value(name: str) -> str:
    """The text of a variable; empty where it is not set."""
    return os.environ.get(name, "")


def _switch(name: str, default: bool) -> bool:
    value = os.environ.get(name, "").strip().lower()
    if value in ("", "1", "true", "yes", "on", "0", "false", "no", "off"):
        return value in ("1", "true", "yes", "on") if value else default
    raise _nonsense(name, "1 to switch it on or 0 to switch it off")


def _limit(name: str, default: int, most: int = 10**18 - 1) -> int:
    value = _value(name).strip()
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or len(value) > 18 or not 0 < int(value) <= most:
        upper = f" up to {most}" if most < 10**18 - 1 else ""
        raise _nonsense(name, f"a whole number above 0{upper}, such as {default}")
    return int(value)


def _names(name: str) -> tuple[str, ...]:
    """The names in a variable, parted by commas; one that names nothing is no way to allow everything."""
    value = _value(name)
    names = tuple(each.strip() for each in value.split(",") if each.strip())
    if value and not names:
        raise _nonsense(name, f"names parted by commas, such as {DEFAULT_MODEL}, or leave it out")
    return names


def _list(name: str, pattern: str, meant: str) -> tuple[str, ...]:
    """The words of a variable, in lower case, parted by commas or blanks."""
    words = re.split(r"[\s,]+", _value(name).strip().lower())
    if any(word and not re.fullmatch(pattern, word) for word in words):
        raise _nonsense(name, meant)
    return tuple(word for word in words if word)


def _frame_ancestors() -> tuple[str, ...]:
    name = "INSIDE_BERT_FRAME_ANCESTORS"
    meant = "'self', 'none' or addresses such as https://lms.example.org"
    words = tuple(
        f"'{word.strip(chr(39))}'" if word.strip("'") in ("self", "none") else word
        for word in _list(name, rf"'self'|'none'|self|none|{ORIGIN}", meant)
    )
    if "'none'" in words and len(words) > 1:
        raise _nonsense(name, meant)
    return words or ("'self'",)


def _device() -> str:
    """A device as it may be asked for; whether it is there is seen where torch is (bertviz_core.models.device)."""
    name = "INSIDE_BERT_DEVICE"
    value = os.environ.get(name, "").strip().lower() or "auto"
    if not DEVICE.fullmatch(value):
        raise _nonsense(name, "auto, cpu, cuda, cuda:1 for the second GPU, or mps")
    return value


def _hub_endpoint() -> str:
    value = os.environ.get("HF_ENDPOINT", "").strip() or HUB_ENDPOINT
    if not ENDPOINT.fullmatch(value):
        raise _nonsense("HF_ENDPOINT", f"an address such as {HUB_ENDPOINT}")
    return value.rstrip("/")


def _nonsense(name: str, meant: str) -> BertvizError:
    value = _value(name)
    shown = ascii(value[:40] + "…" * (len(value) > 40))
    return BertvizError(f"{name} is set to {shown}; write {meant}.")
