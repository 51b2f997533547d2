"""What needs no run of a model: its files, parameters, sizes, one layer, cost and memory."""

from collections.abc import Iterable
from functools import cached_property

from bertviz_core.architecture.cost.activation_memory import activation_memory
from bertviz_core.architecture.cost.counting import counted
from bertviz_core.architecture.cost.multiply_adds import (
    BATCHES,
    STATED_TOKENS,
    checked_lengths,
    crossover,
    curve_lengths,
    doubling_lengths,
    foretells,
    multiply_adds,
    operation_terms,
)
from bertviz_core.architecture.cost.results import ActivationMemory, Crossover, Holding, MultiplyAdds, OperationTerms
from bertviz_core.architecture.design import design_of
from bertviz_core.architecture.dry_run import runnable_task
from bertviz_core.architecture.facts.derive import model_facts
from bertviz_core.architecture.layer_flow import layer_flow
from bertviz_core.architecture.layer_modules import layer_paths
from bertviz_core.architecture.module_shapes import module_shapes
from bertviz_core.architecture.module_tree import module_tree
from bertviz_core.architecture.results import Architecture, Design, LayerFlow
from bertviz_core.architecture.sizes import describe
from bertviz_core.architecture.structure.results import ModelFacts
from bertviz_core.cli.figure.request import FigureRequest
from bertviz_core.cli.options import tokenized
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.parameters.tree import FORMS, TreeForm
from bertviz_core.models.skeleton import build_skeleton, model_config, task_of_class
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.parameters.ledger import config_ledger, source_ledger
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree, tree_depth
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import position_limit

HOLDINGS: dict[str, Holding] = {"Inference": "inference", "Training": "training"}


class ModelInputs:
    """A model's files and what they say by themselves; what of them a caption and a reader are told is noted."""

    def __init__(self, asked: FigureRequest) -> None:
        """Inputs of what was asked for; none is made yet."""
        self.asked = asked
        self.settings = Settings.from_environment(any_folder=True)
        self.models: tuple[tuple[str, str], ...] = ()
        """(name, revision) of the models that have been used."""
        self.texts: tuple[str | None, ...] = ()
        """What they read."""
        self.notices: tuple[str, ...] = ()
        """What a reader must know."""

    def _of(self, name: str) -> ModelSource:
        return resolve(name, self.settings)

    def _read_by(self, name: str) -> Tokens:
        """The one text as the model of a name reads it."""
        return tokenized(name, self.asked.text(), self.asked.pair)

    @cached_property
    def source(self) -> ModelSource:
        """The model that was named first."""
        model_source = self._of(self.asked.model)
        self.models = ((model_source.name, model_source.revision),)
        return model_source

    @cached_property
    def model_name(self) -> str:
        """Its name as figures say it."""
        return self.source.name

    @cached_property
    def ledger(self) -> Ledger:
        """Its parameters, or those of the class of a task."""
        return source_ledger(self.source, self.settings, self.asked.task)

    @cached_property
    def layered_ledger(self) -> Ledger:
        """The ledger of a model with numbered layers."""
        if not self.ledger.layers:
            raise TextError(
                f"No numbered layers were found among the names of {self.asked.model!r}; draw its parameters."
            )
        return self.ledger

    @cached_property
    def ledgers(self) -> list[Ledger]:
        """The ledgers of several models."""
        names = tuple(dict.fromkeys((self.asked.model, *self.asked.texts)))
        if len(names) < 2:
            raise TextError("This figure compares models, and one came; name another, too.")
        sources = [self._of(name) for name in names]
        self.models = tuple((source.name, source.revision) for source in sources)
        return [source_ledger(source, self.settings, self.asked.task) for source in sources]

    @cached_property
    def form(self) -> TreeForm:
        """Of the tree of parameters."""
        form = next((each for each in FORMS if each == self.asked.form), None)
        if form is None:
            raise TextError(f"There is no --form {escape_controls(self.asked.form[:20])!r}; choose {', '.join(FORMS)}.")
        return form

    @cached_property
    def nodes(self) -> tuple[TreeNode, ...]:
        """The modules down to the depth asked for."""
        return parameter_tree(self.ledger, min(self.asked.depth, tree_depth(self.ledger)))

    @cached_property
    def architecture(self) -> Architecture:
        """The model's sizes."""
        return describe(self.source, self.ledger, self._facts_of(self.ledger))

    def _facts_of(self, ledger: Ledger) -> ModelFacts | None:
        """What a run tells of the class of these parameters; None where it cannot be run without weights."""
        try:
            task = task_of_class(self.source.name, self.source.config, ledger.architecture)
            return model_facts(self.source.name, self.source.config, task)
        except BertvizError:
            return None

    @cached_property
    def _own_ledger(self) -> Ledger:
        """The parameters of the class that the checkpoint names, whatever the task."""
        return source_ledger(self.source, self.settings, None)

    @cached_property
    def own_architecture(self) -> Architecture:
        """The sizes of that class."""
        return describe(self.source, self._own_ledger, self._facts_of(self._own_ledger))

    @cached_property
    def task(self) -> str:
        """The task asked for, or that of the class that the checkpoint names."""
        return self.asked.task or task_of_class(self.source.name, self.source.config, self._own_ledger.architecture)

    @cached_property
    def class_ledger(self) -> Ledger:
        """The parameters of the class of this task."""
        return config_ledger(self.source.name, self.source.config, self.task)

    @cached_property
    def design(self) -> Design:
        """Whether that class is an encoder, a decoder or both."""
        skeleton = build_skeleton(self.source.name, self.source.config, self.task)
        return design_of(skeleton, self.class_ledger, self._facts_of(self.class_ledger))

    @cached_property
    def position_limit(self) -> int | None:
        """Tokens that the model has positions for; None for one without a count of positions."""
        limit = position_limit(model_config(self.source.name, self.source.config).to_dict())
        return None if limit is None else limit.tokens

    @cached_property
    def _read(self) -> Tokens | None:
        """The text as the model reads it; None where none was given."""
        return self._read_by(self.asked.model) if self.asked.texts else None

    @cached_property
    def _stated(self) -> int:
        """Tokens of a text that nobody typed."""
        return min(STATED_TOKENS, self.position_limit or STATED_TOKENS)

    @cached_property
    def flow(self) -> LayerFlow:
        """The way through one layer, with the shapes of the text, or of 128 tokens without one."""
        source, ledger, read = self.source, self.class_ledger, self._read
        layers = len(layer_paths(ledger, source.model_type))
        number = self.asked.number("layer", self.asked.layer, max(layers, 1), layers // 2)
        run = module_shapes(source.name, source.config, self._stated if read is None else read, self.task)
        facts = self._facts_of(ledger)
        self.texts = () if read is None else (read.text, read.pair)
        tree = module_tree(source.name, source.config, self.task, fold=False)
        return layer_flow(tree, ledger, run, self.own_architecture, facts, number)

    @cached_property
    def _counted_task(self) -> str:
        """The task, or "base" where the class of the task cannot be run on a text alone."""
        return runnable_task(self.source.name, self.source.config, self.task)

    @cached_property
    def _terms(self) -> OperationTerms:
        return operation_terms(self.source.name, self.source.config, self._counted_task)

    @cached_property
    def _tokens_here(self) -> int:
        return self._stated if self._read is None else len(self._read)

    def _counts_at(self, lengths: Iterable[int]) -> MultiplyAdds:
        return counted(self.source.name, self.source.config, tuple(sorted(set(lengths))), self._counted_task)

    @cached_property
    def _checks(self) -> MultiplyAdds:
        return self._counts_at(checked_lengths(self.position_limit, self._tokens_here))

    @cached_property
    def by_formula(self) -> bool:
        """Whether a formula gives what PyTorch counts."""
        return foretells(self._terms, self._checks)

    @cached_property
    def counts(self) -> MultiplyAdds:
        """PyTorch's own count of multiply-adds at some lengths."""
        if self.by_formula:
            return self._checks
        return self._counts_at((self._tokens_here, *doubling_lengths(self.position_limit)))

    @cached_property
    def crossing(self) -> Crossover:
        """Where scores and mixing cost as much as the feed-forward blocks; nowhere without a formula."""
        return crossover(self._terms) if self.by_formula else Crossover(None)

    @cached_property
    def costs(self) -> MultiplyAdds:
        """Multiply-adds by length: by the formula, else as PyTorch counts."""
        if not self.by_formula:
            return self.counts
        return multiply_adds(self._terms, curve_lengths(self.position_limit, self.crossing.tokens, self._tokens_here))

    @cached_property
    def memory(self) -> ActivationMemory:
        """Bytes of activations by batch and length."""
        holding = HOLDINGS[self.asked.setting("holding", list(HOLDINGS))]
        lengths, task = doubling_lengths(self.position_limit), self._counted_task
        return activation_memory(self.source.name, self.source.config, holding, BATCHES, lengths, task)
