"""Comparison of two checkpoints of BERT-base shape, against loading both with safetensors and computing the same.

Each run has its own process, which imports what it needs before memory is measured; so the extra memory is what a
server needs on top of its own. The files are in the system's cache for both.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import PEAK, Row

RUNS = 3
BUDGET_MB = 50
PREPARE = """
import json, sys, time
from pathlib import Path
import torch, transformers
transformers.logging.set_verbosity_error()
folders = [Path(each) for each in sys.argv[1:]]
"""
OURS = (
    PREPARE
    + """
from bertviz_core.checkpoints.comparison import compare_checkpoints
from bertviz_core.settings import Settings
from bertviz_core.models.sources import folder_source
from bertviz_core.checkpoints.values import open_checkpoint
settings = Settings.from_environment(any_folder=True)
def run():
    first, second = (open_checkpoint(folder_source(each.name, each), settings) for each in folders)
    return {each.name: each.relative_change for each in compare_checkpoints(first, second).tensors}
"""
)
PEER = (
    PREPARE
    + """
from safetensors.torch import load_file
def run():
    first, second = (load_file(each / "model.safetensors") for each in folders)
    found = {}
    for name, one in first.items():
        two = second[name]
        difference = two - one
        found[name] = (difference.norm() / one.norm().clamp_min(1e-30)).item()
        two.norm().item(), difference.abs().max().item(), torch.count_nonzero(difference).item()
    return found
"""
)
MEASURE = """
before = peak()
found = run()
extra = peak() - before
times = []
for _ in range(5):
    start = time.perf_counter()
    run()
    times.append(time.perf_counter() - start)
print(json.dumps([sorted(times)[2], extra, {name: value for name, value in found.items() if value}]))
"""
BASE = """
import sys
from transformers import BertConfig, BertModel
BertModel(BertConfig()).save_pretrained(sys.argv[1])
"""
EDIT = """
import sys
from safetensors.torch import load_file, save_file
path = sys.argv[1]
tensors = {name: w * 1.25 if w.is_floating_point() else w for name, w in load_file(path).items()}
save_file(tensors, path, metadata={"format": "pt"})
"""


def rows() -> list[Row]:
    """Rows of the table for the comparison, whose result must be that every tensor has changed by a quarter."""
    with tempfile.TemporaryDirectory() as folder:
        base, other = Path(folder) / "base", Path(folder) / "edited"
        _python(BASE, str(base))
        shutil.copytree(base, other)
        _python(EDIT, str(other / "model.safetensors"))
        folders = (str(base), str(other))
        pairs = [(_measured(OURS, folders), _measured(PEER, folders)) for _ in range(RUNS)]
    ours_s, peer_s = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    ours_mb, peer_mb = (max(pair[side][1] for pair in pairs) for side in (0, 1))
    moved = [value for (_, _, found), _ in pairs for value in found.values()]
    right = len(moved) >= RUNS * 100 and max(abs(value - 0.25) for value in moved) < 1e-6
    peer = "both loaded by safetensors, the same numbers in float32"
    return [
        Row(
            "two checkpoints of BERT-base shape compared, all numbers",
            f"{ours_s * 1e3:.0f} ms",
            f"{peer_s * 1e3:.0f} ms {peer}: {peer_s / ours_s:.1f}x",
            "right, >= 1.0x",
            right and ours_s <= peer_s,
        ),
        Row(
            "its extra memory",
            f"{ours_mb:.0f} MB",
            f"{peer_mb:.0f} MB {peer}",
            f"< {BUDGET_MB} MB",
            ours_mb < BUDGET_MB,
        ),
    ]


def _measured(code: str, folders: tuple[str, str]) -> tuple[float, float, dict[str, float]]:
    seconds, extra, found = json.loads(_python(code + PEAK + MEASURE, *folders).splitlines()[-1])
    return seconds, extra, found


def _python(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stdout
