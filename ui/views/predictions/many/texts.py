"""Texts of the view Several texts, and the lines of Python that reproduce its numbers."""

from ui.widgets.reproduction import LONGEST, library_lines

HOW = (
    "Texts of like length are run together; what is padded is cut off again, so a text's answer does not depend on its "
    "neighbours. Accuracy is the share of texts whose answer is the gold label. A class's F1 is "
    "`2 hits / (times it is gold + times it is answered)`, macro-F1 the mean over the classes that occur. A label is "
    "compared without regard to capitals; one that is no class of the head counts as a mistake."
)
NO_GOLD = (
    "Without gold labels there is nothing to be compared: type a label and a tab in front of each text, or choose the "
    "column of a file that holds the labels, for accuracy, macro-F1 and a confusion matrix."
)


def head_code(name: str, task: str, texts: tuple[str, ...], pairs: tuple[str, ...] | None) -> str:
    """Lines that give the answers of a head."""
    lines = library_lines(
        name,
        "from bertviz_core.predictions.probing.table import text_predictions",
        "from bertviz_core.predictions.loading import load_head",
    )
    short = sum(map(len, (*texts, *(pairs or ())))) <= 4 * LONGEST
    given = repr(texts) if short else "texts"
    second = (repr(pairs) if short else "pairs") if pairs is not None else "None"
    return (
        f"{lines}head = load_head(source, settings, {task!r}, model)\n"
        f"predictions = text_predictions(head, tokenizer, {given}, {second})\n"
        "print(predictions.answers, predictions.scores)\n"
    )


def probe_code(name: str, texts: tuple[str, ...]) -> str:
    """Lines that give the answers of a probe that was saved."""
    lines = library_lines(
        name,
        "from pathlib import Path",
        "from bertviz_core.predictions.probing.probe import read_probe",
        "from bertviz_core.predictions.probing.table import probe_table",
    )
    given = repr(texts) if sum(map(len, texts)) <= 4 * LONGEST else "texts"
    return (
        f"{lines}probe = read_probe('probe.zip', Path('probe.zip').read_bytes())  # Save on this page writes it\n"
        f"predictions = probe_table(probe, model, tokenizer, {given})\n"
        "print(predictions.answers, predictions.scores)\n"
    )
