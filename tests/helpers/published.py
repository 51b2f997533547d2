"""Checkpoints of the catalogue for published values: from the Hub's cache, or downloaded if the Hub is available."""

import pytest

from bertviz_core.errors import BertvizError
from bertviz_core.models.local_files import tokenizer_folder, weights_folder
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.settings import Settings

WANTED = ["*.json", "vocab.txt", "model.safetensors"]


def checkpoint(name: str) -> ModelSource:
    """A model of the catalogue with its files on this machine; skips the test if they are not available."""
    from huggingface_hub import HfApi, constants, snapshot_download

    settings = Settings.from_environment()
    source = resolve(name, settings)
    assert source.hub_id is not None
    try:
        weights_folder(source, settings), tokenizer_folder(source, settings)
    except BertvizError:
        try:
            if constants.HF_HUB_OFFLINE:
                raise OSError("offline")
            HfApi().model_info(source.hub_id, timeout=5)
            snapshot_download(source.hub_id, allow_patterns=WANTED)
        except Exception:
            pytest.skip(f"{name} is neither in the Hub's cache nor reachable")
    return resolve(name, settings)
