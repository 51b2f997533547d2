"""An encoder whose products with weights are in int8, and how close its vectors are to the model's own."""

import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bertviz_core.corpus.exact_search import exact_units
from bertviz_core.corpus.results import Int8Receipt
from bertviz_core.errors import CorpusError
from bertviz_core.hidden_states.results import entry_name
from bertviz_core.lazy_imports import optional, torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.encoding import plan_layer, tokenized
from bertviz_core.sentences.results import SPARSE_POOLINGS, SentencePlan
from bertviz_core.sentences.two_models import nearest_others, shared_neighbours
from bertviz_core.text import counted, first_line, quoted
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import model_inputs

if TYPE_CHECKING:
    import openvino

LEAST_COSINE = 0.99
"""Vectors whose mean cosine to those of float32 is smaller are refused."""
ROWS, NEIGHBOURS = 200, 10
"""Compared rows at most, and nearest rows of each."""
GROUP = "64"
"""Numbers of a token that are rounded by one scale before a product."""
INSTEAD = "take --run-dtype float32, or auto"
EXAMPLES = ["a", "Two texts of different length, from which the tracer sees which sizes vary."]


class Int8Model:
    """Stands for the model in a run of sentences; its outputs are the last hidden states alone."""

    def __init__(self, loaded: LoadedModel, inputs: "Mapping[str, torch.Tensor]") -> None:
        """Convert the model by the inputs of a batch, and round its weights."""
        self._name = loaded.name
        with optional("int8", "openvino", "A run in int8", f"Without it, {INSTEAD}."):
            _without_telemetry()
            import openvino
        settings = {
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "INFERENCE_PRECISION_HINT": "f32",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP,
        }
        try:
            with warnings.catch_warnings(action="ignore"):  # the tracer's, of sizes that it takes for constants
                converted = openvino.convert_model(loaded.model, example_input=dict(inputs))
            _round_weights(converted)
            self._run = openvino.compile_model(converted, "CPU", settings)
        except Exception as error:  # a converter may meet any operation that it does not know
            raise CorpusError(
                f"{quoted(loaded.name)} ({loaded.model_type}) cannot be converted for a run in int8 "
                f"({first_line(error)}); {INSTEAD}."
            ) from error

    def __call__(self, **inputs: Any) -> "dict[str, torch.Tensor]":
        """Compute the last hidden states of a batch."""
        arrays = {name: value.numpy() for name, value in inputs.items() if isinstance(value, torch.Tensor)}
        try:
            return {"last_hidden_state": torch.from_numpy(self._run(arrays)["last_hidden_state"].copy())}
        except Exception as error:
            raise CorpusError(
                f"The run of {quoted(self._name)} in int8 failed ({first_line(error)}); {INSTEAD}."
            ) from error


def _without_telemetry() -> None:
    """Leave out the package by which OpenVINO tells its makers of every import; it does without."""
    modules: Any = sys.modules
    modules.setdefault("openvino_telemetry", None)


def _round_weights(converted: "openvino.Model") -> None:
    """Store the weights of every product in int8, one scale for each output, as OpenVINO's int8 kernels take them."""
    from openvino import opset13 as operations

    for product in converted.get_ordered_ops():
        weights = product.input_value(1).get_node() if product.get_type_name() == "MatMul" else None
        if weights is None or weights.get_type_name() != "Constant" or weights.data.ndim != 2:
            continue
        values = weights.data
        largest = np.abs(values).max(axis=int(product.get_attributes()["transpose_b"]), keepdims=True)
        scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
        whole = operations.convert(operations.constant(np.round(values / scales).astype(np.int8)), "f32")
        product.input(1).replace_source_output(operations.multiply(whole, operations.constant(scales)).output(0))


def int8_model(loaded: LoadedModel, tokenizer: TextTokenizer, plan: SentencePlan) -> Int8Model:
    """The model in int8, for vectors by this plan."""
    if loaded.device != "cpu":
        raise CorpusError(f"A run in int8 is one of the processor, and the device is {loaded.device}; {INSTEAD}.")
    if plan.pooling in ("pooler", *SPARSE_POOLINGS) or plan_layer(loaded, plan) < loaded.num_hidden_layers:
        raise CorpusError(
            f"A run in int8 gives the last hidden states alone, and the vectors of {quoted(loaded.name)} are made of "
            f"others ({plan.pooling} of {entry_name(plan_layer(loaded, plan))}); {INSTEAD}."
        )
    (rows,) = tokenized(tokenizer, EXAMPLES, plan)
    return Int8Model(loaded, model_inputs(loaded, rows))


def receipt(
    model: str, exact: Float[np.ndarray, "rows dimensions"], rounded: Float[np.ndarray, "rows dimensions"]
) -> Int8Receipt:
    """Compare the vectors of rows in float32 with those in int8; refuse these if they are too far from the others."""
    if broken := int((~np.isfinite(rounded)).any(axis=1).sum()):
        raise CorpusError(
            f"Of {counted(len(rounded), 'row')} that {quoted(model)} embedded in int8, {broken:,} came out as NaN or "
            f"infinity; {INSTEAD}."
        )
    units, count = (exact_units(exact), exact_units(rounded)), min(NEIGHBOURS, len(exact) - 1)
    cosines = (units[0] * units[1]).sum(axis=1)
    nearest = [nearest_others(each @ each.T, count) for each in units]
    shared = float(shared_neighbours(*nearest).mean()) if count else 1.0
    compared = Int8Receipt(len(exact), float(cosines.mean()), float(cosines.min()), count, shared)
    if not compared.mean_cosine >= LEAST_COSINE:
        raise CorpusError(
            f"The vectors of {quoted(model)} in int8 are too far from those in float32: {agreement(compared)}; the "
            f"mean must be at least {LEAST_COSINE}. {INSTEAD.capitalize()}."
        )
    return compared


def agreement(compared: Int8Receipt) -> str:
    """The receipt in words."""
    return (
        f"mean cosine {compared.mean_cosine:.4f} to float32 on {counted(compared.rows, 'row')}, smallest "
        f"{compared.worst_cosine:.4f}, {compared.neighbours_kept:.1%} of the {compared.neighbours} nearest rows kept"
    )
