"""Settings from environment variables, and the limits with which a config is opened.

`python -m bertviz_core.settings` prints the table of docs/configuration.md.
"""

import hashlib
import ipaddress
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from bertviz_core.errors import BertvizError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
HUB_ENDPOINT = "https://huggingface.co"
MAX_TOKENS = 8192
MAX_LAYERS, MAX_LABELS = 2048, 100_000
MAX_BATCH_BYTES = 256 * 1024**2
MAX_GRADIENT_BYTES = 1024**3
HOST = r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]"
DEVICE = re.compile(r"auto|cpu|mps|cuda(?::[0-9]{1,3})?")
ORIGIN = rf"https?://(?:{HOST})(?::[0-9]{{1,5}})?"
ENDPOINT = re.compile(rf"(?i:https?://(?:{HOST})(?::[0-9]{{1,5}})?(?:/[^\s?#]*)?)")
SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
MIB, GIB = 1024**2, 1024**3


@dataclass(frozen=True, slots=True)
class Kind:
    """How the value of a variable is parsed."""

    parse: Callable[[str], Any]
    """Parse a text that is not empty; raises ValueError if it is invalid."""
    expected: str
    """Description of valid values; {default} is the default of the setting."""
    blank_is_empty: bool = True
    """Whether a blank text means the default."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An environment variable."""

    default: Any
    """The default value, or a function that returns it."""
    kind: Kind
    help: str
    """Its description in the table."""
    shown: str = ""
    """The default in the table; empty to derive it from the value."""
    name: str = ""
    """The variable; empty for INSIDE_BERT_ and the name of the field."""

    def value(self, name: str) -> Any:
        """The value in the environment."""
        text = os.environ.get(name, "")
        if not text or (self.kind.blank_is_empty and not text.strip()):
            return self._default()
        try:
            return self.kind.parse(text)
        except ValueError as error:
            shown = ascii(text[:40] + "…" * (len(text) > 40))
            expected = self.kind.expected.format(default=self._default())
            raise BertvizError(f"{name} is set to {shown}; write {expected}.") from error

    def _default(self) -> Any:
        return self.default() if callable(self.default) else self.default

    def line(self, name: str) -> str:
        """Its row in the table of docs/configuration.md."""
        shown = self.shown or f"`{int(self.default) if isinstance(self.default, bool) else self.default}`"
        if name.endswith("_BYTES"):
            unit, word = (GIB, "GiB") if self.default >= GIB else (MIB, "MiB")
            shown = f"`{self.default}` ({self.default // unit} {word})"
        return f"| `{name}` | {shown} | {self.help} |"


def _switch(text: str) -> bool:
    try:
        return SWITCHES[text.strip().lower()]
    except KeyError as error:
        raise ValueError from error


def _count(most: int = 10**18 - 1) -> Kind:
    """A positive integer."""

    def parse(text: str) -> int:
        digits = text.strip()
        if not digits.isascii() or not digits.isdigit() or len(digits) > 18 or not 0 < int(digits) <= most:
            raise ValueError
        return int(digits)

    upper = f" up to {most}" if most < 10**18 - 1 else ""
    return Kind(parse, f"a whole number above 0{upper}, such as {{default}}")


def _names(text: str) -> tuple[str, ...]:
    """Comma-separated names; an empty list is invalid, since it would allow everything."""
    names = tuple(each.strip() for each in text.split(",") if each.strip())
    if not names:
        raise ValueError
    return names


def _words(pattern: str) -> Callable[[str], tuple[str, ...]]:
    """Lower-case words that match a pattern, separated by commas or blanks."""

    def parse(text: str) -> tuple[str, ...]:
        words = tuple(word for word in re.split(r"[\s,]+", text.strip().lower()) if word)
        if not all(re.fullmatch(pattern, word) for word in words):
            raise ValueError
        return words

    return parse


def _frame_ancestors(text: str) -> tuple[str, ...]:
    words = tuple(
        f"'{word.strip(chr(39))}'" if word.strip("'") in ("self", "none") else word
        for word in _words(rf"'self'|'none'|self|none|{ORIGIN}")(text)
    )
    if "'none'" in words and len(words) > 1:
        raise ValueError
    return words or ("'self'",)


def _word(pattern: re.Pattern[str], lower: bool = True) -> Callable[[str], str]:
    """A word that matches a pattern, in lower case by default and without a slash at its end."""

    def parse(text: str) -> str:
        word = text.strip().lower() if lower else text.strip()
        if not pattern.fullmatch(word):
            raise ValueError
        return word.rstrip("/")

    return parse


FOLDER = Kind(Path, "a folder", blank_is_empty=False)
SWITCH = Kind(_switch, "1 to switch it on or 0 to switch it off")
COUNT = _count()
NAMES = Kind(_names, f"names parted by commas, such as {DEFAULT_MODEL}, or leave it out", blank_is_empty=False)
HOSTS = Kind(_words(HOST), "names such as bert.example.org, without a port")
ORIGINS = Kind(_words(ORIGIN), "origins such as https://bert.example.org")
ANCESTORS = Kind(_frame_ancestors, "'self', 'none' or addresses such as https://lms.example.org")
# Only the syntax; bertviz_core.models.loading checks whether it is available.
DEVICES = Kind(_word(DEVICE), "auto, cpu, cuda, cuda:1 for the second GPU, or mps")
LOG_FORMATS = Kind(_word(re.compile("text|json")), "text or json")
PORTS = Kind(_count(65535).parse, "a port from 1 to 65535")
IP_ADDRESS = Kind(lambda text: str(ipaddress.ip_address(text.strip())), "an IP address such as {default}")
ADDRESS = Kind(_word(ENDPOINT, lower=False), f"an address such as {HUB_ENDPOINT}")


def _cores() -> int:
    """Processors of this machine, at most 4."""
    return min(4, os.cpu_count() or 1)


def _vector_store_dir() -> Path:
    """A folder below the user's cache folder (XDG Base Directory Specification)."""
    cache = os.environ.get("XDG_CACHE_HOME", "") or os.path.expanduser("~/.cache")  # noqa: PTH111  # raises nothing
    return Path(cache) / "inside-bert"


def setting(default: Any, kind: Kind, help: str, shown: str = "", name: str = "") -> Any:
    """A dataclass field with a Setting as metadata."""
    return field(metadata={"setting": Setting(default, kind, help, shown, name)})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a process, one field per environment variable."""

    models_dir: Path = setting(
        Path("models"), FOLDER, "folder whose subfolders are offered as models", shown="`models` (image: `/models`)"
    )
    corpora_dir: Path = setting(
        Path("corpora"),
        FOLDER,
        "folder whose subfolders are offered as corpora ([corpus.md](corpus.md)); read only",
        shown="`corpora` (image: `/corpora`)",
    )
    allow_hub: bool = setting(True, SWITCH, "whether requests to the Hub are allowed", shown="`1` (image: `0`)")
    allowed_models: tuple[str, ...] = setting(
        (), NAMES, "comma-separated names that may be opened, no others", shown="empty: all"
    )
    device: str = setting(
        "auto",
        DEVICES,
        "where models run: `auto` (a GPU where PyTorch finds one, else the CPU), `cpu`, `cuda`, `cuda:1` for the "
        "second GPU, `mps`; each page that runs a model names it ([deployment.md](deployment.md#gpu))",
    )
    max_model_bytes: int = setting(8 * GIB, COUNT, "bytes that the weights of one model may take in memory")
    max_tokens: int = setting(
        MAX_TOKENS, COUNT, "tokens of a text that a model is given; the rest is cut off, with a notice"
    )
    max_characters: int = setting(200_000, COUNT, "characters that a text may have before it is tokenized")
    max_trace_bytes: int = setting(
        3 * GIB, COUNT, "bytes that the runs kept for all visitors together may take; those used longest ago make room"
    )
    vector_store_dir: Path = setting(
        _vector_store_dir,
        FOLDER,
        "folder in which sentence vectors are kept (not the sentences): `sentence-vectors`, Parquet files, and the "
        "secret of their keys; several instances of one machine may share it",
        shown="`inside-bert` in the user's cache folder",
    )
    max_store_bytes: int = setting(
        2 * GIB, COUNT, "bytes that the kept vectors may take; the files used longest ago make room"
    )
    max_loaded_bytes: int = setting(
        4 * GIB,
        COUNT,
        "bytes that the models kept in memory may take together; those used longest ago make room, one always stays",
    )
    max_cache_bytes: int = setting(
        GIB, COUNT, "bytes that results, tokenizers, uploads and figures kept for all visitors together may take"
    )
    compute_ahead: bool = setting(
        True,
        SWITCH,
        "whether the server computes what the pages show first, of the default model and the example texts, before "
        "anybody asks, while nobody waits for an answer",
    )
    require_sign_in: bool = setting(
        False,
        SWITCH,
        "whether only those who sign in get in; without a complete sign-in the server then does not start "
        "([deployment.md](deployment.md))",
    )
    allowed_hosts: tuple[str, ...] = setting(
        (),
        HOSTS,
        "names under which the dashboard may be reached, without a port, `*.example.org` for all below; localhost "
        "always may; `make run` and `serve` set it to localhost unless it is set, also to nothing "
        "([deployment.md](deployment.md#names-origins-and-frames))",
        shown="empty: any",
    )
    allowed_origins: tuple[str, ...] = setting(
        (),
        ORIGINS,
        "origins such as `https://bert.example.org` whose pages may open a session beside the dashboard's own, for "
        "a proxy that changes `Host`",
        shown="empty",
    )
    frame_ancestors: tuple[str, ...] = setting(
        ("'self'",),
        ANCESTORS,
        "who may show the dashboard in a frame: `'self'`, `'none'`, addresses such as `https://lms.example.org`",
        shown="`'self'`",
    )
    lessons_dir: Path | None = setting(
        None,
        FOLDER,
        "folder with lessons of your own, `*.yaml`, beside the shipped ones ([lessons.md](lessons.md))",
        shown="none",
    )
    log_format: str = setting(
        "text",
        LOG_FORMATS,
        "`json`: a JSON object a line, also for each page and answer ([deployment.md](deployment.md#log))",
    )
    metrics_port: int | None = setting(
        None, PORTS, "port of the metrics for Prometheus ([deployment.md](deployment.md#metrics))", "none: no metrics"
    )
    metrics_address: str = setting(
        "127.0.0.1", IP_ADDRESS, "IP address on which the metrics are served; `0.0.0.0` for all of the machine"
    )
    max_sentences: int = setting(50_000, COUNT, "sentences that a list may have")
    max_queued_runs: int = setting(
        100, COUNT, "runs that may wait for the model, which runs one at a time; each reader sees how many are ahead"
    )
    max_table_bytes: int = setting(
        128 * MIB,
        COUNT,
        "bytes that the sentences of an uploaded file, and the columns beside those of any file, may take",
    )
    isolate_models: bool = setting(
        None,
        SWITCH,
        "whether a model that is neither bundled nor in the catalogue is first built, and its tokenizer works, in "
        "processes of their own, within the limits of memory and seconds below; `0` saves their memory and the "
        "seconds of their start where all models are your own; `mcp` has the dashboard's default",
        shown="`1`, on the command line `0`",
    )
    max_batch_bytes: int = setting(
        MAX_BATCH_BYTES,
        COUNT,
        "bytes that a batch of interventions may take beside the model; more of them make more batches",
    )
    max_gradient_bytes: int = setting(
        MAX_GRADIENT_BYTES,
        COUNT,
        "bytes that one run with gradients may take beside the model, by an estimate before it begins",
    )
    max_layers: int = setting(
        MAX_LAYERS,
        COUNT,
        "layers, blocks or groups that one entry of a config may ask for, and an eighth of its experts",
    )
    max_labels: int = setting(MAX_LABELS, COUNT, "labels that a config may name")
    # Sufficient for all but mixtures of experts with 7 billion parameters and more, which are too large by default.
    max_modules: int = setting(5_000, COUNT, "modules that are built from a config")
    child_bytes: int = setting(
        GIB,
        COUNT,
        "memory that a process reading an uploaded file may ask for; below 400 MiB it cannot read Parquet. A "
        "tokenizer in a process of its own may ask for 1 GiB at least",
    )
    # Bounded above, unlike the other limits.
    child_seconds: int = setting(
        20, _count(3600), "processor seconds that such a process may take, up to 3600; by the clock three times as many"
    )
    max_children: int = setting(
        _cores,
        _count(64),
        "such processes that may run at once, up to 64; further readers wait",
        shown="processors, 4 at most",
    )
    hub_endpoint: str = setting(HUB_ENDPOINT, ADDRESS, "address of the Hub", shown="the Hub's own", name="HF_ENDPOINT")
    any_folder: bool = False
    """Whether paths outside models_dir may be opened (on the command line)."""

    @classmethod
    def from_environment(cls, any_folder: bool = False) -> "Settings":
        """Settings from the variables INSIDE_BERT_... (docs/configuration.md) and HF_ENDPOINT."""
        values = {name: row.value(variable) for name, (variable, row) in ROWS.items()}
        if values["isolate_models"] is None:
            values["isolate_models"] = not any_folder
        return cls(**values, any_folder=any_folder)


_DECLARED: dict[str, Setting] = {each.name: each.metadata["setting"] for each in fields(Settings) if each.metadata}
ROWS = {name: (row.name or f"INSIDE_BERT_{name.upper()}", row) for name, row in _DECLARED.items()}
"""Name of a field -> its variable and setting."""


def table() -> str:
    """The table of settings in docs/configuration.md."""
    lines = (row.line(variable) for variable, row in ROWS.values())
    return "\n".join(("| variable | default | meaning |", "| --- | --- | --- |", *lines))


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")


LABELS = ("id2label", "label2id", "num_labels")


@dataclass(frozen=True, slots=True)
class Terms:
    """Limits of a config; the defaults apply to plain mappings."""

    max_layers: int = MAX_LAYERS
    """Maximum layers, blocks or groups of an entry."""
    max_labels: int = MAX_LABELS
    """Maximum labels."""
    trial: Settings | None = None
    """Settings of the process that builds it first; None to build it directly."""


class OpenedConfig(dict[str, Any]):
    """A config.json with its terms."""

    def __init__(self, entries: Mapping[str, Any], terms: Terms) -> None:
        """Copy the entries of a config.json."""
        super().__init__(entries)
        self.terms = terms


def changed(config: Mapping[str, Any], entries: Mapping[str, Any]) -> OpenedConfig:
    """Replace the entries of a config and keep its terms."""
    return OpenedConfig(entries, terms_of(config))


def terms_of(config: Mapping[str, Any]) -> Terms:
    """The terms of a config."""
    return config.terms if isinstance(config, OpenedConfig) else Terms()


def config_digest(config: Mapping[str, Any]) -> str:
    """A digest that is equal for configs that differ only in labels."""
    entries = {key: value for key, value in config.items() if key not in LABELS}
    raw = orjson.dumps(entries, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(raw).hexdigest()
