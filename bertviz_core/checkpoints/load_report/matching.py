"""Match the keys of a checkpoint to the tensors of a model, on shapes and by transformers' own rules.

The steps are those of `transformers.core_model_loading.convert_and_load_state_dict_in_model` and of
`PreTrainedModel._finalize_model_loading`: rename each key (old names, the family's conversions, the base model's
prefix), fuse or split tensors as the family does, compare shapes, tie, drop the keys that the class ignores. Every
tensor is on the meta device, so shapes are computed without any value.
"""

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.skeleton import leave_out_ignored
from bertviz_core.parameters.components import TASK_HEAD, component_of

Shape = tuple[int, ...]


@dataclass(slots=True)
class KeyMatch:
    """Result of matching the keys of a file with the names of a model."""

    filled: dict[str, Shape] = field(default_factory=dict)
    """Names of the model that the file fills -> shape."""
    mismatched: dict[str, tuple[Shape, Shape]] = field(default_factory=dict)
    """Names of the model -> shape in the file, shape in the model."""
    missing: set[str] = field(default_factory=set)
    """Names of the model that the file lacks, except tied ones that are filled elsewhere."""
    unused: dict[str, list[str]] = field(default_factory=dict)
    """Keys that the model lacks, as named by transformers -> their names in the file."""
    sources: dict[str, list[str]] = field(default_factory=dict)
    """Names of the model -> names in the file of their sources."""
    ignored_missing: dict[str, str] = field(default_factory=dict)
    """Missing names that the class excludes from the report -> reason."""
    ignored_unused: dict[str, str] = field(default_factory=dict)
    """Unused keys that are excluded from the report -> reason."""
    shadowed: dict[str, str] = field(default_factory=dict)
    """Names in the file of tensors that another tensor of the same name in the model overrides -> that name."""
    not_converted: list[str] = field(default_factory=list)
    """Names with stored tensors that cannot be fused."""


class KeyMatcher:
    """Matches keys with one model on the meta device."""

    def __init__(self, model: "transformers.PreTrainedModel") -> None:
        self.model = model
        self.expected: dict[str, torch.Tensor] = model.state_dict()
        named = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
        owners: dict[int, str] = {}
        self.owner: dict[str, str] = {}
        """Name -> first name of the same tensor."""
        for name, tensor in named:
            if name in self.expected:
                self.owner[name] = owners.setdefault(id(tensor), name)

    def match(self, stored: Mapping[str, Shape]) -> KeyMatch:
        """Match keys: name in the file -> shape."""
        result = KeyMatch()
        converted: dict[str, Any] = {}
        for key, name, converter, pattern in self._renamed(stored):
            if name not in self.expected:
                for target in converter.target_patterns if converter else ("",):
                    unused = name.replace(converter.target_patterns[0], target) if converter else name
                    result.unused.setdefault(unused, []).append(key)
            elif name in result.sources and name not in converted:
                result.shadowed[key] = name  # the loader also uses the first
            elif name in converted or converter is not None:
                gathered = converted.setdefault(name, copy.deepcopy(converter))
                gathered.add_tensor(name, key, pattern or key, torch.empty(stored[key], device="meta"))
                result.sources.setdefault(name, []).append(key)
            else:
                result.sources[name] = [key]
                self._take(result, name, stored[key])
        loading_info = SimpleNamespace(conversion_errors={}, missing_keys=set(self.expected))
        for name, gathered in converted.items():
            self._convert(result, name, gathered, loading_info)
        self._finish(result)
        return result

    def matched(self, result: KeyMatch) -> int:
        """Return the number of filled tensors of the model, tied ones counted once."""
        return len({self.owner.get(name, name) for name in result.filled})

    def component(self, name: str) -> str:
        """Return the component of a name; a name outside the base model belongs to a head."""
        base, prefix = self.model.base_model, self.model.base_model_prefix
        inner = name.removeprefix(f"{prefix}.")
        return component_of(inner, prefix, wrapped=False) if hasattr(base, inner.partition(".")[0]) else TASK_HEAD

    @property
    def total(self) -> int:
        """Number of the model's tensors, tied ones counted once."""
        return len({self.owner.get(name, name) for name in self.expected})

    def _renamed(self, stored: Iterable[str]) -> "Iterable[tuple[str, str, Any, str | None]]":
        """Yield key, name in the model, converter and its pattern for each key, in the loader's order."""
        from transformers.conversion_mapping import get_model_conversion_mapping
        from transformers.core_model_loading import WeightConverter, WeightRenaming, dot_natural_key, rename_source_key

        steps = get_model_conversion_mapping(self.model)
        renamings = [step for step in steps if isinstance(step, WeightRenaming)]
        converters = [step for step in steps if isinstance(step, WeightConverter)]
        by_pattern = {pattern: step for step in converters for pattern in step.source_patterns}
        prefix = self.model.base_model_prefix
        for key in sorted(stored, key=dot_natural_key):
            name, pattern = rename_source_key(key, renamings, converters, prefix, self.expected)
            if name not in self.expected and key in self.expected:
                name, pattern = rename_source_key(key, [], [], prefix, self.expected)
            yield key, name, None if pattern is None else by_pattern[pattern], pattern

    def _take(self, result: KeyMatch, name: str, shape: Shape) -> None:
        expected = tuple(self.expected[name].shape)
        if shape == expected:
            result.filled[name] = shape
        else:
            result.mismatched[name] = (shape, expected)

    def _convert(self, result: KeyMatch, name: str, gathered: Any, loading_info: SimpleNamespace) -> None:
        """Fuse the gathered tensors as the family's converter does with real ones."""
        from transformers.core_model_loading import SkipParameters

        keys = result.sources.pop(name)
        try:
            tensors = gathered.convert(name, model=self.model, config=self.model.config, loading_info=loading_info)
        except SkipParameters:  # a wrong shape or a missing part; the loader also records it and continues
            result.not_converted.append(name)
            return
        for target, value in tensors.items():
            tensor = value[0] if isinstance(value, list) else value
            if target in self.expected:
                result.sources[target] = keys
                self._take(result, target, tuple(tensor.shape))
            else:
                result.unused.setdefault(target, []).extend(keys)

    def _finish(self, result: KeyMatch) -> None:
        """Tie weights, and apply the class's own rules for keys to ignore."""
        missing = self.expected.keys() - result.filled.keys() - result.mismatched.keys()
        self.model.tie_weights(missing_keys=missing, recompute_mapping=False)
        loading_info = SimpleNamespace(missing_keys=set(missing), unexpected_keys=set(result.unused))
        leave_out_ignored(self.model, loading_info)
        result.missing = loading_info.missing_keys
        for name in missing - loading_info.missing_keys:
            result.ignored_missing[name] = self._rule("_keys_to_ignore_on_load_missing", name)
        for name in result.unused.keys() - loading_info.unexpected_keys:
            result.ignored_unused[name] = self._rule("_keys_to_ignore_on_load_unexpected", name)

    def _rule(self, attribute: str, name: str) -> str:
        patterns = sorted(getattr(self.model, attribute, None) or ())
        rule = next((pattern for pattern in patterns if re.search(pattern, name)), None)
        if rule is not None:
            return f"{type(self.model).__name__}.{attribute} has {rule!r}"
        return "a table that the model computes itself; older files still hold it"
