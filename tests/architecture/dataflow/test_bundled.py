"""The packaged facts equal those of a run, and are available without torch."""

import subprocess
import sys

from bertviz_core.architecture.dataflow.derive import facts_of, model_facts
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings

SETTINGS = Settings.from_environment()
SCRIPT = """
import sys
from bertviz_core.architecture.dataflow.derive import facts_of
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings

config = resolve(DEFAULT_MODEL, Settings.from_environment()).config
assert facts_of(DEFAULT_MODEL, config, "base").layers
print("torch" in sys.modules)
"""


def test_the_packaged_facts_are_those_of_a_run() -> None:
    config = resolve(DEFAULT_MODEL, SETTINGS).config
    assert facts_of(DEFAULT_MODEL, config, "base") == model_facts(DEFAULT_MODEL, config, "base")


def test_another_config_under_the_bundled_name_is_run() -> None:
    config = {**resolve(DEFAULT_MODEL, SETTINGS).config, "num_hidden_layers": 2}
    assert len(facts_of(DEFAULT_MODEL, config, "base").layers) == 2


def test_they_are_had_without_torch() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
