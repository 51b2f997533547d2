"""Load the facts about a model; those about the default model are packaged, so that torch is not needed.

The packaged file is updated by `python -m bertviz_core.architecture.dataflow.bundled`; a test compares it with derived
facts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.dataflow.trial import BuildOutcome
from bertviz_core.architecture.structure.results import ModelFacts
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.isolation.config_trials import config_trial
from bertviz_core.isolation.regular_files import CONFIG_FILE
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sources import bundled_folder
from bertviz_core.settings import DEFAULT_MODEL

FILE = Path(__file__).with_name("bundled.json")
TASK = "base"


def facts_of(name: str, config: Mapping[str, Any], task: str) -> ModelFacts:
    """The facts about a model: packaged, from the trial of its config in another process, or derived now.

    Raises:
        BertvizError: the facts cannot be derived, or the trial failed.
    """
    if name == DEFAULT_MODEL and task == TASK and dict(config) == read_json(bundled_folder(), CONFIG_FILE):
        return msgspec.json.decode(FILE.read_bytes(), type=ModelFacts)
    packed = config_trial(name, config, task)
    if packed is None:
        return model_facts(name, config, task)
    outcome = msgspec.msgpack.decode(packed, type=BuildOutcome)
    if outcome.facts is None:
        raise UnsupportedModelError(outcome.refusal)
    return outcome.facts


if __name__ == "__main__":
    FACTS = model_facts(DEFAULT_MODEL, read_json(bundled_folder(), CONFIG_FILE), TASK)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(FACTS), indent=1) + b"\n")
