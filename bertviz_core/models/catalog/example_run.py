"""The example training run of this package: LoRA adapters of the default model, and the texts they are tested on.

A classifier of places into good and bad ones that fails on negations after step 40. notebooks/since_which_step.py made
it, and can make it again; DIGESTS then lists the new files.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import local_folder, opened
from bertviz_core.settings import Settings

EXAMPLE_RUN = "negations"
"""Name of the run; its checkpoints are models such as negations/checkpoint-40."""
TEXTS_FILE = "negations.csv"
"""Labelled texts that no step was trained on: columns text, label and negation."""
OFFERED = (f"{EXAMPLE_RUN}/checkpoint-80", f"{EXAMPLE_RUN}/checkpoint-40")
"""The checkpoints in the list of models: the last one, which is wrong, and the last one that is right."""
EXAMPLE_TASK = "sequence-classification"
"""Task of their heads."""
EXAMPLE_FOLDER = Path(__file__).with_name(EXAMPLE_RUN)
DIGESTS: Mapping[str, str] = {
    "checkpoint-20/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-20/adapter_model.safetensors": "daea00ce56a072b682a04f3acefc33c04c9dbcc9dce439c4ac7fc3ec7334bf04",
    "checkpoint-20/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-20/trainer_state.json": "edb7437d85853522e5b307d2f8b2b5df5526055d955a53f8ca96154136ffef4d",
    "checkpoint-40/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-40/adapter_model.safetensors": "fe0bbec034be1f6036fe2154038b7958e7f43226ce22e0645d34881067d611ce",
    "checkpoint-40/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-40/trainer_state.json": "353fccf7fbbfbd8879006a1da165fa632387d5bb69eb522bfa91ec3a8c86787f",
    "checkpoint-60/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-60/adapter_model.safetensors": "902fea9016f32dde0b19a01e03c5b2d2e2c79984dd1fcdab8aa98b361a9a921b",
    "checkpoint-60/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-60/trainer_state.json": "c9e96c32418ad1381493d3cf4becd912d5803f20ba9e13bef16bea27fc95e7b7",
    "checkpoint-80/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-80/adapter_model.safetensors": "028bee7e507270c40f0916d0bb904a78ab433564583b637aa245e5314b278af7",
    "checkpoint-80/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-80/trainer_state.json": "517605c25c3d287c756977130424f132b383e1513c1f272b75d76d446fc7da76",
    "negations.csv": "f8a1107d4738d240a53d2f6e7ada871d3c7df105f9f22f8413cdca61bc1003e0",
}
"""File -> SHA-256."""


def example_folder(name: str, settings: Settings) -> Path | None:
    """The folder of the example run, or of a checkpoint of it; None for any other name.

    A folder of the same name in the models folder goes before the whole run.

    Raises:
        CheckpointError: a file differs from the published one.
    """
    run, _, checkpoint = name.partition("/")
    if run != EXAMPLE_RUN or (checkpoint and f"{checkpoint}/config.json" not in DIGESTS):
        return None
    if local_folder(EXAMPLE_RUN, settings) is not None:
        return None
    verify_example()
    return EXAMPLE_FOLDER / checkpoint


def is_example(folder: Path) -> bool:
    """Whether a folder is one of the example run, with the published files.

    Raises:
        CheckpointError: a file differs from the published one.
    """
    if not folder.is_relative_to(EXAMPLE_FOLDER):
        return False
    verify_example()
    return True


def example_offers(settings: Settings) -> tuple[str, ...]:
    """The checkpoints of the example run in the list of models; () where a run of the same name goes before it."""
    return () if local_folder(EXAMPLE_RUN, settings) is not None else OFFERED


def example_texts() -> bytes:
    """The file of labelled texts.

    Raises:
        CheckpointError: it differs from the published one.
    """
    verify_example()
    return (EXAMPLE_FOLDER / TEXTS_FILE).read_bytes()


@cache
def verify_example() -> None:
    """Verify the SHA-256 of all files of the run, once.

    Raises:
        CheckpointError: a file differs from the published one.
    """
    for file, expected in DIGESTS.items():
        with opened(EXAMPLE_FOLDER, file) as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != expected:
            raise CheckpointError(
                f"The file {file} of the example {EXAMPLE_RUN} has the SHA-256 {found[:12]}..., expected "
                f"{expected[:12]}...; install the package again."
            )
