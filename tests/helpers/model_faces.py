"""All views of a tiny model of a family: the results shown by each page."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from bertviz_core.architecture.cost import operation_terms
from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.design import design_of
from bertviz_core.architecture.layer_flow import layer_flow, layer_paths
from bertviz_core.architecture.module_tree import module_shapes, tree_of
from bertviz_core.architecture.results import Architecture, Design, LayerFlow, ModelFacts, ModuleTree, OperationTerms
from bertviz_core.architecture.sizes import describe
from bertviz_core.figures.architecture.drawing import Picture
from bertviz_core.figures.architecture.layers import stack_picture
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.ledger import module_ledger
from bertviz_core.parameters.results import Ledger
from tests.helpers.decoders import DECODERS, WRITERS, decoder_config, writer_config
from tests.helpers.tiny_models import FAMILIES, tiny_config

SEQ = 7
TYPES = tuple(dict.fromkeys((*FAMILIES, *DECODERS, *WRITERS)))


@dataclass(frozen=True)
class Faces:
    """Results about one model."""

    config: dict[str, Any]
    ledger: Ledger
    facts: ModelFacts
    card: Architecture
    stack: Picture
    flows: tuple[LayerFlow, ...]
    design: Design
    tree: ModuleTree
    terms: OperationTerms


def config_of(model_type: str) -> dict[str, Any]:
    """The config of a tiny model of a type."""
    if model_type in FAMILIES:
        return tiny_config(model_type).to_dict()
    config = decoder_config(model_type) if model_type in DECODERS else writer_config(model_type)
    return config.to_dict()


@cache
def faces(model_type: str) -> Faces:
    """All results for the family's base class."""
    config = config_of(model_type)
    skeleton = build_skeleton(model_type, config)
    ledger = module_ledger(model_type, skeleton, source="config")
    facts = model_facts(model_type, config)
    card = describe(ModelSource(model_type, "local", config, None, None, "", False), ledger, facts)
    tree = tree_of(model_type, skeleton, fold=False)
    run = module_shapes(model_type, config, SEQ)
    flows = tuple(layer_flow(tree, ledger, run, card, facts, layer) for layer in layer_paths(ledger, model_type))
    return Faces(
        config=config,
        ledger=ledger,
        facts=facts,
        card=card,
        stack=stack_picture(card, ledger),
        flows=flows,
        design=design_of(skeleton, ledger, facts),
        tree=tree,
        terms=operation_terms(model_type, config, facts=facts),
    )
