"""The training run of the notebook and of the lesson Since which step, made once per process."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

ROOT = Path(__file__).parents[2]


@cache
def negations_models() -> Path:
    """A models folder with the run, made by the command that the lesson names; this takes about a minute."""
    models = Path(mkdtemp(prefix="negations"))
    environment = {**os.environ, "INSIDE_BERT_MODELS_DIR": str(models)}
    subprocess.run([sys.executable, "-m", "notebooks.since_which_step"], cwd=ROOT, env=environment, check=True)
    return models
