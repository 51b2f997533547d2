"""Fuzzed folders of a training run: checkpoints half written or of other models, wrong states, odd names."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

from bertviz_core.checkpoints.training.log import STATE_FILE
from bertviz_core.questions.models.training import OpenedTraining, training_log, training_movement
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings
from bertviz_core.text import escape_markdown
from tests.fuzz.cases import Brought, Case
from tests.fuzz.corpora import nbytes_of
from tests.fuzz.mutations import changed_bytes, changed_json
from tests.helpers.tiny_models import save_tiny

STEPS = (1, 2, 4)
ROWS = [{"step": 1, "epoch": 0.5, "loss": 2.5}, {"step": 2, "epoch": 1.0, "eval_f1": float("nan"), "note": "a"}]
WEIGHTS, CONFIG = "model.safetensors", "config.json"
NAMES = (
    "checkpoint-3",
    "checkpoint-0",
    "step 7",
    "checkpoint-",
    "checkpoint-999999999999999",
    "checkpoint-٣",
    "e\u202e1",
)
"""Names that a folder of a checkpoint is given."""
FOLDER_S = 10.0
"""Seconds of processor time for a folder, whose checkpoints are all read."""


def training_folders(folder: Path) -> Case:
    """Folders of training runs: every file of one or two checkpoints may be changed, cut off or missing."""
    settings = replace(Settings.from_environment(), models_dir=folder, allow_hub=False, allowed_models=())
    start = save_tiny("bert", folder / "start")
    right = {name: (start / name).read_bytes() for name in (WEIGHTS, CONFIG)}
    right[STATE_FILE] = json.dumps({"global_step": 2, "save_steps": 1, "log_history": ROWS}).encode()

    def case(rng: Random) -> Brought:
        run = folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        places = [run / f"checkpoint-{step}" for step in STEPS] + ([run] if rng.random() < 0.3 else [])
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
            for name, raw in right.items():
                (place / name).write_bytes(raw)
        for place in rng.sample(places, rng.randint(1, 2)):
            _damage(rng, place)
        if rng.random() < 0.3:
            places[0].rename(run / rng.choice(NAMES))

        def read() -> None:
            opened = OpenedTraining(run, settings)
            log = training_log(opened, Options())
            moved = training_movement(opened, Options()).result
            assert moved.from_first.shape[0] == len(opened.run.checkpoints)
            escape_markdown(" ".join((*log.notices, *moved.notices, *opened.run.notices))).encode()

        return Brought(nbytes_of(run), read, FOLDER_S)

    return case


def _damage(rng: Random, place: Path) -> None:
    """Change one file of a checkpoint: its JSON, its bytes or its length; or remove it."""
    path = place / rng.choice((WEIGHTS, CONFIG, STATE_FILE))
    if not path.exists():
        return
    raw, kind = path.read_bytes(), rng.random()
    if kind < 0.1:
        path.unlink()
    elif kind < 0.3:
        path.write_bytes(raw[: rng.randrange(len(raw))])
    elif kind < 0.7 and path.name != WEIGHTS:
        path.write_text(json.dumps(changed_json(rng, json.loads(raw))))
    elif kind < 0.7:
        length = 8 + int.from_bytes(raw[:8], "little")
        head = json.dumps(changed_json(rng, json.loads(raw[8:length]))).encode()
        path.write_bytes(len(head).to_bytes(8, "little") + head + raw[length:])
    else:
        path.write_bytes(changed_bytes(rng, raw))
