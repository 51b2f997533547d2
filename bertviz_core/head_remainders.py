"""Families that compute attention in code of their own: how they scale the product, and what they add to it."""

from collections.abc import Mapping

from bertviz_core.loading import LoadedModel

ADDED: Mapping[str, str] = {
    "deberta": "content-to-position and position-to-content terms",
    "deberta-v2": "content-to-position and position-to-content terms",
    "lilt": "score of the layout",
    "mpnet": "relative position",
    "nystromformer": "approximation by landmarks",
    "roformer": "rotary positions of query and key",
    "xlnet": "relative position and segment",
}
"""What a family adds to the product of query and key, in words; found by reading its code in transformers."""


def content_scaling(loaded: LoadedModel, head_dim: int) -> float:
    """What the product of query and key is multiplied with in a family whose scaling is not recorded.

    1 / sqrt(head_dim) (Vaswani et al. 2017, section 3.2.1); DeBERTa divides by sqrt(head_dim x kinds of products), the
    product of the contents counted among them (He et al. 2021, section 3.1).
    """
    kinds = 1
    if loaded.model_type in ("deberta", "deberta-v2"):
        kinds += len(set(getattr(loaded.model.config, "pos_att_type", None) or ()) & {"c2p", "p2c"})
    return float((head_dim * kinds) ** -0.5)
