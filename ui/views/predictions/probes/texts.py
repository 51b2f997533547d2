"""Texts about probes, and the lines of Python that reproduce their numbers."""

from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.predictions.probing.results import LabelledTexts, Probe, ProbeScores
from ui.widgets.reproduction import LONGEST, library_lines

HOW = (
    "The model is not changed: each text becomes one vector by the pooling, on every layer. A probe is multinomial "
    "logistic regression on these vectors (each dimension brought to mean 0 and spread 1), fitted on four fifths of "
    "the texts and tried on the fifth that it has not seen, five times over, every part with its share of each class. "
    "The *control task* does the same with shuffled labels (Hewitt and Liang 2019): what is right there is learned by "
    "heart or luck, and accuracy minus control is the probe's *selectivity*. The long-dashed line is always naming the "
    "most frequent class."
)
READ = (
    "High on the first entry: the words alone tell the classes apart. A rise over the layers: context adds to it. "
    "What a probe can read is in the vector; whether the model uses it, it does not say."
)
ANSWER = (
    "The text becomes one vector as the labelled texts did; `softmax(vector @ weight.T + bias)` are the probabilities. "
    "This probe was fitted on all labelled texts, its accuracy measured on parts that it had not seen."
)


def scores_code(name: str, labelled: LabelledTexts, scores: ProbeScores) -> str:
    """Lines that give the accuracy of every layer."""
    return (
        f"{_fitting(name, labelled, scores)}"
        "print(scores.accuracy.mean(axis=1), scores.accuracy.std(axis=1))\n"
        "print(scores.macro_f1.mean(axis=1), scores.control_accuracy.mean(axis=1), scores.majority)\n"
    )


def answer_code(name: str, labelled: LabelledTexts, scores: ProbeScores, probe: Probe, text: str) -> str:
    """Lines that give a probe's probabilities of a text."""
    given = repr(text) if len(text) <= LONGEST else "text"
    return (
        f"{_fitting(name, labelled, scores)}"
        f"probe = fitted_probe(labelled, scores, vectors, {probe.layer})\n"
        f"prediction = probe_predictions(probe, model, tokenizer, [{given}])[0]\n"
        "print(prediction.labels, prediction.probabilities)\n"
    )


def opened_code(name: str, text: str) -> str:
    """Lines that give the probabilities of a text by a probe in a file."""
    lines = library_lines(
        name,
        "from pathlib import Path",
        "from bertviz_core.predictions.probing.probe import probe_predictions, read_probe",
    )
    return (
        f"{lines}probe = read_probe('probe.zip', Path('probe.zip').read_bytes())\n"
        f"prediction = probe_predictions(probe, model, tokenizer, [{text!r}])[0]\n"
        "print(prediction.labels, prediction.probabilities)\n"
    )


def _fitting(name: str, labelled: LabelledTexts, scores: ProbeScores) -> str:
    lines = library_lines(
        name,
        "from bertviz_core.predictions.probing.fitting import fitted_probe, layer_vectors, probe_scores",
        "from bertviz_core.predictions.probing.probe import probe_predictions",
        "from bertviz_core.predictions.probing.reading import example_set",
        "from bertviz_core.predictions.probing.results import LabelledTexts",
    )
    own = f"LabelledTexts({labelled.name!r}, {labelled.texts!r}, {labelled.labels!r})"
    short = sum(map(len, (*labelled.texts, *labelled.labels))) <= 4 * LONGEST
    known = "example_set()" if labelled.name == EXAMPLE_SET else own if short else "LabelledTexts(name, texts, labels)"
    return (
        f"{lines}labelled = {known}\n"
        f"vectors = layer_vectors(model, tokenizer, labelled.texts, {scores.pooling!r})\n"
        f"scores = probe_scores(model, labelled, {scores.pooling!r}, vectors, seed={scores.seed})\n"
    )
