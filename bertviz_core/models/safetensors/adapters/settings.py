"""Read and check the settings of a LoRA adapter, the adapter_config.json that peft writes.

Names of modules may be regular expressions in peft. Which modules are changed follows from the names of the tensors;
target_modules is only compared with them, by RE2, whose time is linear in the length of a name. A pattern of alphas is
read only if it is a plain ending of a name.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import ADAPTER_CONFIG, present
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS, INDEX_FILE, SINGLE_FILE, read_json
from bertviz_core.text import quoted

KINDS: Mapping[str, str] = {
    "ADALORA": "AdaLoRA",
    "IA3": "IA³",
    "LOHA": "LoHa",
    "LOKR": "LoKr",
    "PREFIX_TUNING": "prefix tuning",
    "PROMPT_TUNING": "prompt tuning",
    "P_TUNING": "p-tuning",
    "VERA": "VeRA",
}
"""Kinds of adapters that are not read, as their papers write them."""
OPTIONS: Mapping[str, str] = {
    "alora_invocation_tokens": "activated LoRA",
    "layer_replication": "replicated layers",
    "lora_bias": "a bias inside the update",
    "loftq_config": "LoftQ, which changes the base model too",
    "target_parameters": "updates of parameters outside linear layers",
    "trainable_token_indices": "single trained tokens",
    "use_dora": "DoRA",
    "use_qalora": "QA-LoRA",
}
"""Options of LoRA that are not read, in words."""
READ = frozenset(
    (
        *("alpha_pattern", "auto_mapping", "base_model_name_or_path", "bias", "eva_config", "exclude_modules"),
        *("fan_in_fan_out", "inference_mode", "init_lora_weights", "layers_pattern", "layers_to_transform"),
        *("lora_alpha", "lora_dropout", "megatron_core", "modules_to_save", "peft_type", "peft_version"),
        *("qalora_group_size", "r", "rank_pattern", "revision", "target_modules", "task_type", "use_rslora"),
    )
)
"""Entries that are read, or that do not change the merged weights."""
INITIAL = (True, False, None, "gaussian", "eva", "orthogonal", "mini_lora")
"""Initialisations of the update that leave the base model as it is, unlike PiSSA and OLoRA."""
BIASES = ("none", "all", "lora_only")
MERGED = (
    "merge it where peft is installed, with merge_and_unload() and then save_pretrained(FOLDER), and open that folder"
)
ALONE = "peft cannot merge it into its base either, so run it with peft, or open the base alone"
UNMERGED_KINDS = frozenset(
    (
        *("ADAPTION_PROMPT", "CARTRIDGE", "CPT", "MULTITASK_PROMPT_TUNING", "POLY", "PREFIX_TUNING", "PROMPT_TUNING"),
        *("P_TUNING", "SHADOW", "XLORA"),
    )
)
UNMERGED_OPTIONS = frozenset(("alora_invocation_tokens", "arrow_config", "layer_replication"))
"""Kinds and options of adapters for which peft has no merge_and_unload."""
PLAIN = re.compile(r"\^?[\w.]+")
"""A pattern of module names that is the ending of a name, or with ^ a whole name."""
MAX_PATTERNS, MAX_PATTERN, MAX_RANK = 10_000, 300, 65_536
MAX_LENGTHS = 64
"""Maximum number of different lengths of the names of saved modules."""
DOT = re.compile(r"\.")
MAX_EXPRESSION = 10_000
"""Maximum length of a regular expression for the names of modules."""
MOST_DIGITS = 9
"""Maximum digits of the number of a layer."""


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """Settings of a LoRA adapter."""

    base: str
    """Name of the model that it changes; "" if it names none."""
    revision: str
    """Revision of that model on the Hub; "" for the main branch."""
    rank: int
    ranks: Mapping[str, tuple[int, int]]
    """As `alphas`: the ranks of single modules, which may be named by regular expressions."""
    any_rank: frozenset[int] | None
    """All ranks that a module may have, if some are named by regular expressions."""
    alpha: float
    """Numerator of the scale of an update."""
    alphas: Mapping[str, tuple[int, float]]
    """Ending of a module's name, or ^ and its whole name -> place in the list, alpha of the module."""
    rank_stabilised: bool
    """Whether the scale is alpha / sqrt(rank) (Kalajdzievski 2023) in place of alpha / rank."""
    fan_in_fan_out: bool
    """Whether the changed matrices are stored as inputs × outputs, as GPT-2's are."""
    bias: str
    """Which biases were trained: "none", "all" or "lora_only"."""
    target_modules: tuple[str, ...] | str
    """Names or endings of names of the modules with updates, or one regular expression; "" if it names none."""
    exclude_modules: tuple[str, ...] | str
    """As `target_modules`: the modules that have none in spite of that."""
    layers: frozenset[int] | None
    """Numbers of the layers with updates; None for all."""
    layers_pattern: frozenset[str]
    """Names of the lists of layers that these numbers count in; none for any."""
    modules_to_save: tuple[str, ...]
    """Modules that were trained as a whole and are stored so."""
    task_type: str
    """Task that it was trained for, such as "SEQ_CLS"; "" if it names none."""
    base_class: str
    """Class that it was trained with; "" if it names none."""

    def alpha_of(self, module: str) -> float:
        """The alpha of a module: that of the first pattern that fits its name, or that of the adapter."""
        return min((self.alphas[key] for key in endings(module) if key in self.alphas), default=(0, self.alpha))[1]

    def ranks_of(self, module: str) -> Set[int]:
        """The rank that the update of a module has; all of the patterns where one is a regular expression."""
        if self.any_rank is not None:
            return self.any_rank
        return {min((self.ranks[key] for key in endings(module) if key in self.ranks), default=(0, self.rank))[1]}

    def scale_of(self, module: str, rank: int) -> float:
        """Factor of the update of a module (Hu et al. 2021, section 4.1)."""
        return self.alpha_of(module) / (math.sqrt(rank) if self.rank_stabilised else rank)


def endings(module: str) -> Iterator[str]:
    """The patterns that are the name of a module or an ending of it."""
    yield f"^{module}"
    parts = module.split(".")
    yield from (".".join(parts[begin:]) for begin in range(len(parts)))


def targeted(settings: AdapterSettings, modules: Sequence[str]) -> set[str] | None:
    """Those modules that have updates by the settings of an adapter, as `check_target_module_exists` of peft.

    None if the settings name no modules, or by a regular expression that cannot be compared here.
    """
    if not settings.target_modules:
        return None
    included, excluded = (_matching(each, modules) for each in (settings.target_modules, settings.exclude_modules))
    if included is None or excluded is None:
        return None
    whole = ModuleNames(settings.modules_to_save)
    named = {each for each in included - excluded if not whole.around(each)}
    if isinstance(settings.target_modules, str) or settings.layers is None:
        return named
    by_whole_name = frozenset(settings.target_modules)
    return {each for each in named if each in by_whole_name or _in_layers(settings.layers, settings, each)}


def _matching(names: tuple[str, ...] | str, modules: Sequence[str]) -> set[str] | None:
    """The modules with one of these names or endings, or matched by this expression; None if it cannot be run."""
    if not isinstance(names, str):
        known = frozenset(names)
        return {each for each in modules if not known.isdisjoint(endings(each))}
    if not names:
        return set()
    # Imported here, since most settings have a list, and a ledger must not wait for it.
    import pyarrow as pa
    from pyarrow import compute

    try:
        matched = compute.match_substring_regex(pa.array(modules, pa.string()), f"^(?:{names})$")
    except (pa.ArrowException, UnicodeEncodeError):  # no expression, or with a look-ahead, which RE2 lacks
        return None
    return {each for each, is_named in zip(modules, matched.to_pylist(), strict=True) if is_named}


def _in_layers(layers: Set[int], settings: AdapterSettings, module: str) -> bool:
    """Whether the first number in the name of a module, or that after the name of a list of layers, is one of these."""
    lists, parts = settings.layers_pattern, module.split(".")
    numbered = [
        following
        for part, following in pairwise(parts[:-1])
        if following.isascii()
        and following.isdigit()
        and len(following) <= MOST_DIGITS
        and (not lists or part in lists)
    ]
    return bool(numbered) and int(numbered[0]) in layers


class ModuleNames:
    """Names of modules that peft saves as a whole; looking one up takes no longer for many.

    peft compares the ends of names letter by letter, so that classifier also names DistilBERT's pre_classifier.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._lengths = sorted({len(name) for name in self._names if name}, reverse=True)

    def around(self, name: str) -> str:
        """The first of them that ends the name of a module or of one around it; "" if none does."""
        stops = (*(match.start() for match in DOT.finditer(name)), len(name))
        ends = (name[stop - length : stop] for stop in stops for length in self._lengths if length <= stop)
        return next((end for end in ends if end in self._names), "")


def is_adapter(folder: Path) -> bool:
    """Whether a folder contains an adapter and no weights of a model."""
    return present(folder, ADAPTER_CONFIG) and not any(present(folder, name) for name in (SINGLE_FILE, INDEX_FILE))


def adapter_settings(name: str, folder: Path) -> AdapterSettings:
    """The settings of the adapter in a folder."""
    if not present(folder, ADAPTER_WEIGHTS):
        raise CheckpointError(
            f"{quoted(name)} is half an adapter: it has {ADAPTER_CONFIG} and no {ADAPTER_WEIGHTS}; put both into the "
            "folder (an adapter_model.bin is never opened, since it can run code)."
        )
    return checked_settings(name, read_json(folder, ADAPTER_CONFIG))


def checked_settings(name: str, config: Mapping[str, Any]) -> AdapterSettings:
    """The settings in an adapter_config.json."""
    _refuse_other_kinds(name, config)
    auto = config.get("auto_mapping")
    ranks = _numbers(name, "rank_pattern", config.get("rank_pattern"))
    alphas = _numbers(name, "alpha_pattern", config.get("alpha_pattern"))
    unclear = next((key for key in alphas if len(key) > MAX_PATTERN or not PLAIN.fullmatch(key)), None)
    if unclear is not None:
        raise CheckpointError(
            f"The adapter {quoted(name)} names modules by the regular expression {quoted(unclear, 40)} "
            f"(alpha_pattern), which is not run here; {MERGED}."
        )
    rank = _rank(name, config.get("r"))
    checked = {key: (place, _rank(name, each)) for place, (key, each) in enumerate(ranks.items())}
    bias = config.get("bias", BIASES[0])
    if bias not in BIASES:
        raise CheckpointError(f"The adapter {quoted(name)} has the bias {quoted(str(bias), 40)}; {', '.join(BIASES)}.")
    return AdapterSettings(
        base=_word(config, "base_model_name_or_path"),
        revision=_word(config, "revision"),
        rank=rank,
        ranks=checked,
        any_rank=None if all(map(PLAIN.fullmatch, ranks)) else frozenset({rank, *map(itemgetter(1), checked.values())}),
        alpha=_alpha(name, config.get("lora_alpha")),
        alphas={key: (place, _alpha(name, alpha)) for place, (key, alpha) in enumerate(alphas.items())},
        rank_stabilised=config.get("use_rslora") is True,
        fan_in_fan_out=config.get("fan_in_fan_out") is True,
        bias=bias,
        target_modules=_modules(name, "target_modules", config.get("target_modules")),
        exclude_modules=_modules(name, "exclude_modules", config.get("exclude_modules")),
        layers=_layers(config.get("layers_to_transform")),
        layers_pattern=frozenset(_list(config.get("layers_pattern"))),
        modules_to_save=_saved_modules(name, _list(config.get("modules_to_save"))),
        task_type=_word(config, "task_type"),
        base_class=_word(auto, "base_model_class") if isinstance(auto, Mapping) else "",
    )


def _refuse_other_kinds(name: str, config: Mapping[str, Any]) -> None:
    kind = config.get("peft_type")
    if kind != "LORA":
        word = KINDS.get(str(kind), quoted(str(kind), 40)) if kind else "not named (peft_type)"
        advice = f"; {ALONE}" if str(kind) in UNMERGED_KINDS else f". For another kind, {MERGED}"
        raise CheckpointError(
            f"{quoted(name)} is an adapter of the kind {word}; only LoRA adapters are opened{advice}."
        )
    option = next((key for key, value in config.items() if key not in READ and value), None)
    initial = config.get("init_lora_weights")
    word = "" if option is None else OPTIONS.get(option, f"the option {quoted(option, 40)}")
    if option is None and initial not in INITIAL:
        word = f"the initialisation {quoted(str(initial), 40)}, which changes the base model too"
    if word:
        advice = ALONE if option in UNMERGED_OPTIONS else MERGED
        raise CheckpointError(f"The adapter {quoted(name)} uses {word}, which is not read here; {advice}.")


def _numbers(name: str, entry: str, pattern: Any) -> Mapping[str, Any]:
    if pattern is None:
        return {}
    if not isinstance(pattern, Mapping) or len(pattern) > MAX_PATTERNS:
        raise CheckpointError(
            f"The {entry} of the adapter {quoted(name)} is not a list of at most {MAX_PATTERNS:,} modules with a "
            "number each; save the adapter again with peft."
        )
    return pattern


def _rank(name: str, rank: Any) -> int:
    if type(rank) is not int or not 0 < rank <= MAX_RANK:
        raise CheckpointError(
            f"The adapter {quoted(name)} has the rank {quoted(str(rank), 20)}; a rank is a number from 1 to "
            f"{MAX_RANK:,}."
        )
    return rank


def _alpha(name: str, alpha: Any) -> float:
    if alpha is None:
        raise CheckpointError(
            f"The {ADAPTER_CONFIG} of {quoted(name)} has no lora_alpha, so the scale of its updates is unknown; add it."
        )
    if type(alpha) not in (int, float) or not math.isfinite(alpha) or abs(alpha) > 1e9:
        raise CheckpointError(
            f"The adapter {quoted(name)} has the lora_alpha {quoted(str(alpha), 20)}, which is not a number that can "
            "scale an update."
        )
    return float(alpha)


def _word(config: Mapping[str, Any], entry: str) -> str:
    value = config.get(entry)
    return value.strip() if isinstance(value, str) else ""


def _modules(name: str, entry: str, value: Any) -> tuple[str, ...] | str:
    if isinstance(value, str) and len(value) > MAX_EXPRESSION:
        raise CheckpointError(
            f"The {entry} of the adapter {quoted(name)} is an expression of {len(value):,} characters; at most "
            f"{MAX_EXPRESSION:,} are read."
        )
    return value if isinstance(value, str) else _list(value)


def _list(value: Any) -> tuple[str, ...]:
    """The texts of an entry, which is a list of texts or one text, each once."""
    listed = [value] if isinstance(value, str) and value else value
    return tuple(dict.fromkeys(each for each in listed if isinstance(each, str))) if isinstance(listed, list) else ()


def _saved_modules(name: str, modules: tuple[str, ...]) -> tuple[str, ...]:
    lengths = set(map(len, modules))
    if len(lengths) > MAX_LENGTHS:
        raise CheckpointError(
            f"The modules_to_save of the adapter {quoted(name)} have names of {len(lengths):,} different lengths; at "
            f"most {MAX_LENGTHS} are read. Save the adapter again with peft."
        )
    return modules


def _layers(value: Any) -> frozenset[int] | None:
    """The numbers of an entry, which is a list of numbers or one number; peft reads an empty list as all layers."""
    listed = [value] if type(value) is int else value
    return frozenset(each for each in listed if type(each) is int) if isinstance(listed, list) and listed else None
