"""List the corpora of a dashboard: direct subfolders of one folder, without links, and an example."""

import os
import stat
from pathlib import Path

from bertviz_core.corpus.embedding import EmbeddingOptions, embed_corpus
from bertviz_core.corpus.manifest import FILE, read_manifest
from bertviz_core.corpus.shards import embed_shards
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.predictions.probing import reading
from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import quoted

MOST_ENTRIES = 100_000
"""Maximum number of entries of a corpus folder to inspect."""
EXAMPLE = "example"
"""Name of the example; a corpus of this name in the folder takes precedence."""
EXAMPLE_SHARD = 44
"""Rows per shard of the example, and per progress report."""


def corpus_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of the subfolders with a manifest, in alphabetical order."""
    try:
        names = [entry.name for entry in os.scandir(settings.corpora_dir)]
    except OSError:
        return ()
    return tuple(sorted(name for name in names if name.isprintable() and _has_manifest(settings.corpora_dir / name)))


def corpus_folder(name: str, settings: Settings) -> Path:
    """Return the folder of a corpus by name."""
    root = settings.corpora_dir.resolve()
    offered = corpus_names(settings)
    if name not in offered:
        there = ", ".join(quoted(each, 40) for each in offered[:5]) or "none"
        raise CorpusError(f"There is no corpus {quoted(name, 40)} in the folder of corpora; there is {there}.")
    links = [Path(entry.path) for entry in _entries(root / name) if entry.is_symlink()]  # the others lead nowhere else
    for path in (root / name, *links):
        if not _leads_into(path, root):
            raise CorpusError(
                f"{quoted(path.name)} of the corpus {quoted(name, 40)} is a link out of the folder of corpora, or to "
                "itself; copy the files themselves into it."
            )
    return (root / name).resolve()


def stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return name, size and modification time of every file of a corpus; changes whenever the corpus does."""
    facts = []
    for entry in _entries(folder):
        try:
            status = entry.stat()
        except OSError:
            continue  # deleted since it was listed: opening reports it
        facts.append((entry.name, status.st_size, status.st_mtime_ns))
    return tuple(sorted(facts))


def files_nbytes(folder: Path) -> int:
    """Return the size of all files of a corpus in bytes."""
    nbytes = 0
    for entry in _entries(folder):
        try:
            status = entry.stat()
        except OSError:
            continue  # deleted since it was listed
        nbytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return nbytes


def example_folder(settings: Settings) -> Path:
    """Return the folder of the example, beside the stored vectors, since the folder of corpora is read-only."""
    return settings.vector_store_dir / "corpora" / EXAMPLE


def example_is_there(settings: Settings) -> bool:
    """Return whether the example is complete."""
    try:
        return read_manifest(example_folder(settings)).complete
    except CorpusError:
        return False


def make_example(settings: Settings, progress: Progress) -> Path:
    """Embed the example, or resume it; return its folder.

    Args:
        settings: settings with its folder and the limits for a model.
    """
    folder = example_folder(settings)
    texts = Path(reading.__file__).with_name(f"{EXAMPLE_SET}.csv")
    options = EmbeddingOptions(column="text", rows_per_shard=EXAMPLE_SHARD)
    embed_corpus(DEFAULT_MODEL, str(texts), folder, settings, options, embed_shards, progress)
    return folder


def _has_manifest(folder: Path) -> bool:
    """Return whether a folder has a manifest; False for one that cannot be looked into, such as a link to itself."""
    try:
        return (folder / FILE).exists()
    except OSError:
        return False


def _leads_into(path: Path, root: Path) -> bool:
    """Return whether a path ends below a folder after all links are resolved."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a link to itself
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a corpus folder and of its folder of shards."""
    found: list[os.DirEntry[str]] = []
    for place in (folder, folder / "shards"):
        try:
            with os.scandir(place) as entries:
                found += [entry for _, entry in zip(range(MOST_ENTRIES), entries, strict=False)]
        except OSError:
            continue
    return found
