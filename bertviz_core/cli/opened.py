"""Open what a command names, in any folder of this machine: a model, a corpus, a file of texts; show progress."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import typer

from bertviz_core.cli.options import AGENT, command_settings, file_or_input, print_notices
from bertviz_core.errors import SupersededError
from bertviz_core.models.sources import resolve
from bertviz_core.questions.opened import OpenedFolder, OpenedModel
from bertviz_core.questions.question import Silent
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings


def opened_model(name: str, task: str | None = None) -> OpenedModel:
    """Open a model with the settings of the environment; its parts are loaded when they are first needed."""
    settings = command_settings()
    if AGENT.get() is None:
        return OpenedModel(name, settings, task)
    return _kept_model(name, settings, task, resolve(name, settings).revision)


@lru_cache(maxsize=2)
def _kept_model(name: str, settings: Settings, task: str | None, revision: str) -> OpenedModel:
    """A model that stays in memory, since an agent asks about it again; one whose files changed is opened anew."""
    return OpenedModel(name, settings, task)


def opened_folder(folder: Path) -> OpenedFolder:
    """Open the corpus in a folder with the settings of the environment; its shards are read when they are needed."""
    return OpenedFolder(folder, command_settings())


def opened_table(file: Path, column: str, least_limit: int = 0) -> SentenceTable:
    """Read the texts of a file, or of the standard input for `-`, and print the notices on them.

    Args:
        least_limit: how many texts may come where the settings allow fewer.
    """
    settings = command_settings()
    allowed = replace(settings, max_sentences=max(settings.max_sentences, least_limit))
    table = read_sentences(*file_or_input(file), allowed, column or None)
    print_notices(table.notices)
    return table


class ProgressBar(Silent):
    """A job that moves a bar on a terminal."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._agent = bar, AGENT.get()

    def __call__(self, done: int, total: int, /) -> None:
        """Move the bar; raises SupersededError if the agent that asked does not wait any more."""
        if self._agent is not None and self._agent.stopped.is_set():
            raise SupersededError
        self._bar.length = total
        self._bar.update(done - self._bar.pos)


@contextmanager
def progress_bar(steps: int, label: str, show_pos: bool = False) -> Iterator[ProgressBar]:
    """A progress bar, hidden where the standard error is no terminal."""
    hidden = not sys.stderr.isatty()
    with typer.progressbar(length=steps, label=label, file=sys.stderr, show_pos=show_pos, hidden=hidden) as bar:
        yield ProgressBar(bar)
