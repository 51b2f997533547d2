"""Faults while a corpus is written: a kill, a full disk, a second writer, a shard truncated afterwards."""

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.faults.cases import row
from benchmarks.faults.store import small_disk
from benchmarks.load.server import environment, until
from benchmarks.report import ROOT
from benchmarks.timing import Row

ROWS, PER_SHARD, FEW = 2_000, 100, 5


def rows(home: Path) -> list[Row]:
    """Rows of the table for corpora."""
    home.mkdir(parents=True)
    texts = home / "rows.csv"
    lines = [f"{index},The number of this line is {index * index}.\n" for index in range(ROWS)]
    texts.write_text("id,text\n" + "".join(lines))
    whole = home / "whole"
    _embedded(home, texts, whole)
    return [_killed(home, texts, whole), _full(home, texts), _second_writer(home, texts), _cut(home, whole)]


def _killed(home: Path, texts: Path, whole: Path) -> Row:
    """Kill the command in the middle, and run it again."""
    out = home / "killed"
    process = subprocess.Popen(
        _command(texts, out), cwd=ROOT, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until(lambda: process.poll() is not None or _shards(out) >= FEW, 300, every=0.01)
    in_the_middle = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    there, refused = _shards(out), _info(home, out)
    again = _embedded(home, texts, out)
    equal = all((out / name).read_bytes() == (whole / name).read_bytes() for name in ("vectors.npy", "manifest.json"))
    return row(
        f"kill -9 in the middle of a corpus of {ROWS:,} rows, and again",
        refused,
        f"{there} of {ROWS // PER_SHARD} shards were there; then vectors and manifest {'equal' if equal else 'DIFFER'}",
        "byte for byte the folder that was never stopped",
        in_the_middle and "is not finished" in refused and again.returncode == 0 and equal,
    )


def _full(home: Path, texts: Path) -> Row:
    """A disk with room for 1 MiB, less than the vectors need."""
    with small_disk(home / "small") as (folder, way):
        done = _embedded(home, texts, folder / "corpus", limited=way == "file size")
        halves = list(folder.rglob("*.part"))
        refused = _info(home, folder / "corpus")
    return row(
        f"no room for a corpus ({way} limited to 1 MiB)",
        done.stderr.splitlines()[-1] if done.stderr else "nothing",
        f"{len(halves)} half files; {refused}",
        "one sentence, nothing half taken for whole",
        done.returncode == 2 and "no room" in done.stderr and "Traceback" not in done.stderr and not halves,
    )


def _second_writer(home: Path, texts: Path) -> Row:
    """Two commands for one folder; the first is paused, not ended."""
    out = home / "both"
    out.mkdir()
    with (out / "writer.lock").open("a") as memory:
        fcntl.flock(memory, fcntl.LOCK_EX)
        second = _embedded(home, texts, out)
    after = _embedded(home, texts, out)
    return row(
        "two writers of one corpus",
        second.stderr.splitlines()[-1].replace(f"{home}/", ""),
        f"the second ends with {second.returncode}, and with {after.returncode} when the first has gone",
        "one sentence; a writer that is gone holds nothing",
        second.returncode == 2 and "Another process is writing" in second.stderr and after.returncode == 0,
    )


def _cut(home: Path, whole: Path) -> Row:
    """The end of a shard is cut off."""
    shard = whole / "shards" / "part-00003.parquet"
    raw = shard.read_bytes()
    shard.write_bytes(raw[: len(raw) // 2])
    refused = _info(home, whole)
    shard.write_bytes(raw)
    return row(
        "a shard of a corpus cut to its half",
        refused,
        "opens again when the shard is put back" if '"rows"' in _info(home, whole) else "LOST",
        "one sentence that names the shard",
        "part-00003.parquet" in refused and "Traceback" not in refused,
    )


def _command(texts: Path, out: Path) -> list[str]:
    options = ["--rows-per-shard", str(PER_SHARD)]
    corpus = [sys.executable, "-m", "bertviz_core", "corpus", "embed", "all-MiniLM-L6-v2"]
    return [*corpus, str(texts), "-o", str(out), *options]


def _embedded(home: Path, texts: Path, out: Path, limited: bool = False) -> "subprocess.CompletedProcess[str]":
    command = _command(texts, out)
    if limited:
        command = ["bash", "-c", 'ulimit -f 1024; exec "$@"', "limited", *command]
    return subprocess.run(command, cwd=ROOT, env=environment(home), capture_output=True, text=True, check=False)


def _info(home: Path, folder: Path) -> str:
    """The output of `corpus info` for a folder: its JSON, or its refusal."""
    command = [sys.executable, "-m", "bertviz_core", "corpus", "info", str(folder), "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment(home), capture_output=True, text=True, check=False)
    return json.dumps(json.loads(done.stdout)) if done.returncode == 0 else done.stderr.strip()


def _shards(folder: Path) -> int:
    """Number of finished shards."""
    place = folder / "shards"
    return len(list(place.glob("*.parquet")))
