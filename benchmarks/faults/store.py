"""Faults of the store of sentence vectors: a kill during the work, and a full disk."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile

from benchmarks.faults.cases import row
from benchmarks.load.server import environment, until
from benchmarks.report import ROOT
from benchmarks.timing import Row
from bertviz_core.sentences.store.vectors import SHARDS_FOLDER

SENTENCES, FEW = 2_000, 512
ROOM, FILE_ROOM = 1024**2, 64 * 1024
EMBED = """
import json, resource, sys
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_ROOM, FILE_ROOM))
import numpy as np
from pathlib import Path
from bertviz_core.models.loading import load_model
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.settings import Settings
from bertviz_core.models.sources import resolve
from bertviz_core.trace.tokenization import load_tokenizer
settings = Settings.from_environment()
source = resolve(DEFAULT_MODEL, settings)
loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
plan, texts = recommended(source, settings), Path(sys.argv[1]).read_text().splitlines()
found = sentence_vectors(loaded, tokenizer, texts, plan, store=SentenceStore.of(settings))
plain = sentence_vectors(loaded, tokenizer, texts, plan)
off = float(np.abs(found.vectors - plain.vectors).max())
print(json.dumps([len(found.vectors), found.from_store, found.notices, off]))
""".replace("FILE_ROOM", str(FILE_ROOM))


def rows(home: Path) -> list[Row]:
    """Rows of the table for the store."""
    home.mkdir(parents=True)
    sentences = home / "sentences.txt"
    numbers = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    words = [" ".join(numbers[int(digit)] for digit in str(1_000_000 + index)) for index in range(SENTENCES)]
    sentences.write_text("\n".join(words) + "\n")
    return [_killed(home, sentences), _full(home, sentences)]


def _killed(home: Path, sentences: Path) -> Row:
    """Kill the command line while it embeds a file; then run it again."""
    out, variables = home / "vectors.npy", environment(home)
    command = [sys.executable, "-m", "bertviz_core", "embed", "all-MiniLM-L6-v2", str(sentences), "-o", str(out)]
    process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: process.poll() is not None or _stored(home / "store") >= FEW, 300, every=0.01)
    in_the_middle = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    stored, whole = _stored(home / "store"), _whole(home / "store")
    nothing_half = not out.exists()
    count, from_store, notices, off = _embedded(sentences, variables)
    holds = (
        in_the_middle and whole and nothing_half and FEW <= stored <= from_store < count == SENTENCES and off <= 1e-5
    )
    return row(
        f"kill -9 in the middle of embedding {SENTENCES:,} sentences, and again",
        f"{from_store:,} of {count:,} vectors from the store the second time",
        f"{stored:,} were stored at the kill; shards {'whole' if whole else 'DAMAGED'}; off by {off:.0e}",
        "all that was stored is used, no half file",
        holds and not notices,
    )


def _full(home: Path, sentences: Path) -> Row:
    """A store on a disk that fills up: vectors are stored or left out, and all of them are returned."""
    with small_disk(home / "small") as (folder, way):
        variables = environment(home, {"INSIDE_BERT_VECTOR_STORE_DIR": str(folder)})
        count, from_store, notices, off = _embedded(sentences, variables, "limit" if way == "file size" else "none")
        whole, stored = _whole(folder), _stored(folder)
        reached = stored < SENTENCES
    return row(
        f"no room for the store ({way} limited)",
        " ".join(notices) or "nothing",
        f"{count:,} vectors made, off by {off:.0e}; {stored:,} stored, shards {'whole' if whole else 'DAMAGED'}",
        "all vectors, one notice",
        reached and whole and count == SENTENCES and len(notices) == 1 and off <= 1e-5 and from_store == 0,
    )


def _embedded(sentences: Path, variables: dict[str, str], limit: str = "none") -> tuple[int, int, list[str], float]:
    """Number of vectors, how many came from the store, the notices, and the distance to vectors without a store."""
    command = [sys.executable, "-c", EMBED, str(sentences), limit]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    count, from_store, notices, off = json.loads(done.stdout.splitlines()[-1])
    return count, from_store, notices, off


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[tuple[Path, str]]:
    """A folder with little room, and the kind of limit: its own disk if it can be mounted, else the file size."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        yield folder, "file size"
        return
    try:
        yield folder, "disk"
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _stored(folder: Path) -> int:
    """Number of vectors in a store to which another process may be writing."""
    return sum(rows for rows in map(_rows, _shards(folder)) if rows is not None)


def _whole(folder: Path) -> bool:
    """Whether every shard of a store can be read to its end, including checksums."""
    return all(_rows(path, to_the_end=True) is not None for path in _shards(folder))


def _shards(folder: Path) -> list[Path]:
    return list((folder / SHARDS_FOLDER).glob("[0-9]*.parquet"))


def _rows(path: Path, to_the_end: bool = False) -> int | None:
    """Number of rows of a shard; 0 if it was merged with others meanwhile, None if it is damaged."""
    try:
        with ParquetFile(path, page_checksum_verification=True) as file:
            return file.read().num_rows if to_the_end else file.metadata.num_rows
    except FileNotFoundError:
        return 0
    except (OSError, ArrowException):
        return None
