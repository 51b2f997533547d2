"""Open what a command names: a model, a corpus, a file of texts; any folder of this machine is permitted."""

from pathlib import Path

from bertviz_core.cli.options import file_or_input
from bertviz_core.questions.opened import OpenedFolder, OpenedModel
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings


def opened_model(name: str, task: str | None = None) -> OpenedModel:
    """Open a model with the settings of the environment; its parts are loaded when they are first needed.

    Args:
        name: its name, looked up when it is first needed.
        task: default task of the head; None for that of the head that it was saved with.
    """
    return OpenedModel(name, Settings.from_environment(any_folder=True), task)


def opened_folder(folder: Path) -> OpenedFolder:
    """Open the corpus in a folder with the settings of the environment; its shards are read when they are needed.

    Raises:
        CorpusError: there is none, or it is damaged.
    """
    return OpenedFolder(folder, Settings.from_environment(any_folder=True))


def opened_table(file: Path, column: str) -> SentenceTable:
    """Read the texts of a file, or of the standard input for `-`.

    Args:
        file: the file.
        column: its column with the texts; "" for the one that is found.

    Raises:
        BertvizError: the file cannot be read, or has no such column.
    """
    return read_sentences(*file_or_input(file), Settings.from_environment(any_folder=True), column or None)
