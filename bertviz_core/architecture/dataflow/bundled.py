"""The facts of the bundled model, packaged: its first page appears before torch has been imported.

Written again after a change of how facts are derived, or of the pinned transformers, by
`python -m bertviz_core.architecture.dataflow.bundled`; a test derives them anew and compares.
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
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sources import bundled_folder
from bertviz_core.settings import DEFAULT_MODEL

FILE = Path(__file__).with_name("bundled.json")
CONFIG_FILE = "config.json"
TASK = "base"


def facts_of(name: str, config: Mapping[str, Any], task: str) -> ModelFacts:
    """What a run of the modules tells of a model.

    As packaged for the bundled model's config, as the process told that tried the config where its terms ask for that,
    else of a run now.

    Raises:
        BertvizError: as model_facts; or the trial refused the config.
    """
    if name == DEFAULT_MODEL and task == TASK and dict(config) == read_json(bundled_folder(), CONFIG_FILE):
        return msgspec.json.decode(FILE.read_bytes(), type=ModelFacts)
    told = config_trial(name, config, task)
    if told is None:
        return model_facts(name, config, task)
    outcome = msgspec.msgpack.decode(told, type=BuildOutcome)
    if outcome.facts is None:
        raise UnsupportedModelError(outcome.refusal)
    return outcome.facts


if __name__ == "__main__":
    FACTS = model_facts(DEFAULT_MODEL, read_json(bundled_folder(), CONFIG_FILE), TASK)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(FACTS), indent=1) + b"\n")
