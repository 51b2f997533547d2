"""What figures are made of, each made once and only when a figure needs it, by the name that the figure gives it."""

from bertviz_core.cli.figure.inputs.attention import AttentionInputs
from bertviz_core.cli.figure.inputs.causes import CauseInputs
from bertviz_core.cli.figure.inputs.checkpoints import CheckpointInputs
from bertviz_core.cli.figure.inputs.corpora import CorpusInputs
from bertviz_core.cli.figure.inputs.heads import HeadInputs
from bertviz_core.cli.figure.inputs.labels import LabelInputs
from bertviz_core.cli.figure.inputs.probes import ProbeInputs


class FigureInputs(AttentionInputs, HeadInputs, CheckpointInputs, LabelInputs, ProbeInputs, CorpusInputs, CauseInputs):
    """Everything that any figure can be made of, on the request of a command line."""
