"""The store of sentence vectors: a kill in the middle of the work, and a disk without room."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fault_cases import row
from benchmarks.load_server import ROOT, environment, until
from benchmarks.timing import Row

SENTENCES, FEW = 2_000, 512
ROOM = 1024**2
STORE = "sentence-vectors.sqlite3"
EMBED = """
import json, resource, sys
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))
import numpy as np
from pathlib import Path
from bertviz_core.models.loading import load_model
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.vector_store import SentenceStore
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
""".replace("ROOM", str(ROOM))


def rows(home: Path) -> list[Row]:
    """The lines of the store."""
    home.mkdir(parents=True)
    sentences = home / "sentences.txt"
    numbers = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    words = [" ".join(numbers[int(digit)] for digit in str(1_000_000 + index)) for index in range(SENTENCES)]
    sentences.write_text("\n".join(words) + "\n")
    return [_killed(home, sentences), _full(home, sentences)]


def _killed(home: Path, sentences: Path) -> Row:
    """A kill while the command line embeds a file; then the same again."""
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
        f"{stored:,} were stored at the kill; database {'whole' if whole else 'DAMAGED'}; off by {off:.0e}",
        "all that was stored is used, no half file",
        holds and not notices,
    )


def _full(home: Path, sentences: Path) -> Row:
    """A store on a disk with room for 1 MiB: what is stored fits or is left out, and every vector is made."""
    with _small_disk(home / "small") as (folder, way):
        variables = environment(home, {"INSIDE_BERT_VECTOR_STORE_DIR": str(folder)})
        count, from_store, notices, off = _embedded(sentences, variables, "limit" if way == "file size" else "none")
        whole, stored = _whole(folder), _stored(folder)
        reached = stored < SENTENCES
    return row(
        f"no room for the store ({way} limited to 1 MiB)",
        " ".join(notices) or "nothing",
        f"{count:,} vectors made, off by {off:.0e}; {stored:,} stored, database {'whole' if whole else 'DAMAGED'}",
        "all vectors, one notice",
        reached and whole and count == SENTENCES and len(notices) == 1 and off <= 1e-5 and from_store == 0,
    )


def _embedded(sentences: Path, variables: dict[str, str], limit: str = "none") -> tuple[int, int, list[str], float]:
    """Vectors made, how many came from the store, the notices, and the distance to those made without a store."""
    command = [sys.executable, "-c", EMBED, str(sentences), limit]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    count, from_store, notices, off = json.loads(done.stdout.splitlines()[-1])
    return count, from_store, notices, off


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[tuple[Path, str]]:
    """A folder with room for 1 MiB and how that was done: a disk of its own where one may be made, else a limit."""
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
    """Vectors in a store that another process may be writing to."""
    return int(_asked(folder, "SELECT count(*) FROM vectors") or 0)


def _whole(folder: Path) -> bool:
    """Whether SQLite finds nothing wrong with a store."""
    return _asked(folder, "PRAGMA integrity_check") == "ok"


def _asked(folder: Path, question: str) -> object:
    if not (folder / STORE).exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(folder / STORE, timeout=20)) as database:
            return database.execute(question).fetchone()[0]
    except sqlite3.OperationalError:  # its tables are being made
        return None
