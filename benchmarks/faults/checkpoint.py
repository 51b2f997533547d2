"""Checkpoints that change, disappear or are damaged while a server runs."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path

from benchmarks.faults.cases import one_sentence, row, summary, tiny, went_well
from benchmarks.load.server import Server, running
from benchmarks.load.visitor import Visitor, VisitResult, visiting
from benchmarks.timing import Row

TEXT, OTHER_TEXT = "I love my pet python", "The language of the river"
NEED_WEIGHTS = ("representations", "heads", "attention", "sentences")
PAGES = ("", "parameters", "architecture", "checkpoint", "tokens", *NEED_WEIGHTS)
WEIGHTS = "model.safetensors"
DEFAULT = "all-MiniLM-L6-v2"


def rows(home: Path) -> list[Row]:
    """Rows of the table for checkpoints."""
    models = home / "models"
    tiny(home / "new", model=2)
    tiny(models, replaced=3, overwritten=3, emptied=3, mixed=3, deleted=3, cut=3, noise=3, void=3, lying=3)
    _break(models)
    with running(home) as server:
        return asyncio.run(_all(server, models, home / "new" / "model"))


async def _all(server: Server, models: Path, new: Path) -> list[Row]:
    changes: tuple[tuple[str, str, Callable[[Path], None]], ...] = (
        ("replaced", "the folder is replaced by another model's", lambda folder: _replace(folder, new)),
        ("overwritten", "its files are written over in place", lambda folder: _copy_over(folder, new)),
    )
    found = [await _shows_the_new(server, models / name, words, change) for name, words, change in changes]
    losses: tuple[tuple[str, str, Callable[[Path], None]], ...] = (
        ("emptied", "its weights are cut to nothing in place", lambda folder: os.truncate(folder / WEIGHTS, 0)),
        ("mixed", "its weights are replaced, its config not yet", lambda folder: _copy_over(folder, new, WEIGHTS)),
        ("deleted", "the folder is deleted", shutil.rmtree),
    )
    found += [await _refuses(server, models / name, words, change) for name, words, change in losses]
    broken = (("cut", "half a file"), ("noise", "noise"), ("void", "an empty file"), ("lying", "a header that lies"))
    return [*found, *[await _broken(server, name, words) for name, words in broken]]


async def _shows_the_new(server: Server, folder: Path, words: str, change: Callable[[Path], None]) -> Row:
    """A model with 3 layers is replaced by one with 2 while a reader looks at it."""
    async with visiting(server.url) as visitor:
        before = await _look(visitor, folder.name)
        change(folder)
        clicked = await visitor.click()
        after = await _look(visitor, folder.name, OTHER_TEXT)
    lives = await _lives(server)
    visits = [each for each in (before, clicked, after) if each is not None]
    new = _states(before) == "4" and _states(after) == "3"
    return row(
        f"{words} under a running server",
        f"{_states(before)} hidden states before, {_states(after)} after"
        if all(map(went_well, visits))
        else summary(visits),
        lives,
        "the new one, no traceback",
        new and lives == LIVES and not any(each.errors for each in visits),
    )


async def _refuses(server: Server, folder: Path, words: str, change: Callable[[Path], None]) -> Row:
    """A model is deleted while a reader looks at it; clicks and other pages show a message."""
    async with visiting(server.url) as visitor:
        before = await _look(visitor, folder.name)
        change(folder)
        clicked = await visitor.click()
        after = [await visitor.visit(page, model=folder.name, text=OTHER_TEXT) for page in NEED_WEIGHTS]
    lives = await _lives(server)
    quiet = not any(each.errors for each in (*after, *([clicked] if clicked else [])))
    refused = all(map(one_sentence, after))
    return row(
        f"{words} under a running server", summary(after), lives, "one sentence on each page",
        went_well(before) and quiet and refused and lives == LIVES
    )  # fmt: skip


async def _broken(server: Server, name: str, words: str) -> Row:
    """Open an invalid checkpoint: pages that need it show a message, and the others do not fail."""
    async with visiting(server.url) as visitor:
        need = [await visitor.visit(page, model=name) for page in NEED_WEIGHTS]
        others = [await visitor.visit(page, model=name) for page in PAGES if page not in NEED_WEIGHTS]
    lives = await _lives(server)
    holds = all(map(one_sentence, need)) and not any(each.errors for each in others) and lives == LIVES
    return row(f"weights: {words}", summary(need), lives, "one sentence on each page", holds)


LIVES = "the server and the bundled model work on"


async def _lives(server: Server) -> str:
    """Whether another visitor is served as before."""
    if not server.alive:
        return "THE SERVER IS DEAD"
    async with visiting(server.url) as visitor:
        visit = await visitor.visit("representations", model=DEFAULT, text=TEXT)
    if server.tracebacks():
        return "TRACEBACK IN THE LOG"
    return LIVES if went_well(visit) else summary([visit])


def _look(visitor: Visitor, model: str, text: str = TEXT) -> Coroutine[None, None, VisitResult]:
    return visitor.visit("representations", model=model, text=text)


def _states(visit: VisitResult | None) -> str:
    """The number of hidden states named by the page, whose heading is first that of the last visit."""
    headings = [words for words in (visit.words if visit else ()) if " hidden states of " in words]
    words = headings[-1] if headings else ""
    return words.partition(" hidden states of ")[0].rpartition(" ")[2] or "no"


def _replace(folder: Path, new: Path) -> None:
    folder.rename(folder.parent.parent / f"old-{folder.name}")
    shutil.copytree(new, folder)


def _copy_over(folder: Path, new: Path, *names: str) -> None:
    """Overwrite the files in place, like cp: a process with an open file sees the change."""
    for name in names or ("config.json", WEIGHTS):
        with open(folder / name, "r+b") as file:
            file.write((new / name).read_bytes())
            file.truncate()


def _break(models: Path) -> None:
    """Write weights that are truncated, random, empty, or have a header with values beyond the end of the file."""
    whole = (models / "cut" / WEIGHTS).read_bytes()
    (models / "cut" / WEIGHTS).write_bytes(whole[: len(whole) // 2])
    (models / "noise" / WEIGHTS).write_bytes(bytes(index * 7919 % 251 for index in range(len(whole))))
    (models / "void" / WEIGHTS).write_bytes(b"")
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    name = next(each for each in header if each != "__metadata__")
    header[name]["data_offsets"] = [2**40, 2**40 + 4]
    text = json.dumps(header).encode()
    (models / "lying" / WEIGHTS).write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + length :])
