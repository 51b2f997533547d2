"""Rows of an adapter in a ledger, and what its updates add."""

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.local_files import fitted_adapter
from bertviz_core.models.safetensors.values import TensorReader
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.adapters.results import AdapterUpdate, AdapterUpdates
from bertviz_core.settings import Settings
from bertviz_core.text import quoted


def adapter_updates(source: ModelSource, settings: Settings) -> AdapterUpdates:
    """Measure the updates of an adapter; the matrices of its base are read for their norms."""
    if source.adapter is None or source.folder is None:
        raise UnsupportedModelError(
            f"{quoted(source.name)} is not an adapter on this machine, so it has no updates; open a folder with an "
            "adapter_config.json and an adapter_model.safetensors."
        )
    fit, folder = fitted_adapter(source, source.adapter, settings)
    with TensorReader(source.folder) as own, TensorReader(folder) as whole:
        updates = tuple(
            AdapterUpdate(
                name=stored.name,
                shape=(update.table or stored).shape,
                rank=update.rank,
                scale=update.scale,
                stored_names=(update.first.name, update.second.name),
                base_norm=_norm(whole.read(stored) if update.table is None else own.read(update.table)),
                singular_values=singular_values(own.read(update.second), own.read(update.first), update.scale),
            )
            for stored, update in fit.updates
        )
    saved = tuple(name for name, _ in fit.saved)
    return AdapterUpdates(source.name, source.adapter.base.name, updates, saved, fit.notices)


def _norm(values: Float[np.ndarray, "..."]) -> float:
    return float(np.linalg.norm(values.astype(np.float64)))


@np.errstate(over="ignore")
def singular_values(
    second: Float[np.ndarray, "outputs rank"], first: Float[np.ndarray, "rank inputs"], scale: float
) -> Float[np.ndarray, " _"]:
    """Singular values of scale · B · A, descending, without forming the product.

    With B = QR and Aᵀ = PS the product is Q (R Sᵀ) Pᵀ, and R Sᵀ has its singular values. NaN for matrices that are not
    finite.

    Args:
        second: B.
    """
    if not (np.isfinite(second).all() and np.isfinite(first).all()):
        return np.full(1, np.nan, np.float32)
    right, left = np.linalg.qr(second.astype(np.float64)).R, np.linalg.qr(first.T.astype(np.float64)).R
    values: np.ndarray = np.linalg.svd(right @ left.T, compute_uv=False) * abs(scale)
    return values.astype(np.float32)
