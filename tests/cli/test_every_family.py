"""Every command's JSON, for every task and many families: one JSON object or one message, never a traceback.

Covers `bertviz_core/cli/options.py`.
"""

import json
from pathlib import Path

import numpy as np
import orjson
import pytest

from bertviz_core.questions.tables.lines import json_object
from tests.cli.conftest import Command
from tests.helpers.tiny_heads import NOT_RUN, families_with, save_tiny_head
from tests.helpers.tiny_models import FAMILIES, TEXT, save_tiny

TASKS = ("masked-lm", "sequence-classification", "token-classification", "question-answering", "next-sentence")
ONCE = ("bert", "roformer", "roberta", "distilbert", "albert", "electra", "deberta-v2", "xlnet", "mpnet", "modernbert",
        "gpt2", "t5", "convbert", "funnel")  # fmt: skip
"""Families for which every command is run."""
COMMANDS = {
    "parameters": (), "load-report": ("--task", "sequence-classification"), "tokens": (TEXT,),
    "hidden": (TEXT, "--layer", "1"), "attention": (TEXT, "--layer", "0", "--head", "1"), "heads": ("--layer", "0"),
    "similarity": (TEXT, "another text"), "causes": (TEXT, "--pair", "another text"),
    "words": (TEXT, "--pair", "another text", "--tokens"), "word-pairs": (TEXT, "another text"),
}  # fmt: skip
HEADS = [(task, name) for task in TASKS for name in families_with(task) if (name, task) not in NOT_RUN]


def check(done: tuple[int, str, str]) -> None:
    code, out, err = done
    assert "Traceback" not in err, err
    if code:
        assert code == 2
        assert err.count("\n") == 1
    else:
        json.loads(out)


@pytest.mark.parametrize(("task", "name"), HEADS, ids=[f"{task} {name}" for task, name in HEADS])
@pytest.mark.sample(2)
def test_the_answers_of_every_head(command: Command, tmp_path: Path, task: str, name: str) -> None:
    folder = save_tiny_head(name, task, tmp_path / name)
    pair = ("--pair", "another text") if task in ("question-answering", "next-sentence") else ()
    done = command("predict", str(folder), TEXT, *pair, "--json")
    check(done)
    assert done.returncode == 0, done.stderr
    if task == "token-classification":
        check(command("predict", str(folder), TEXT, "--join", "none", "--json"))


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.slow
def test_every_command_of_a_family(command: Command, tmp_path: Path, name: str) -> None:
    assert name in FAMILIES
    folder = save_tiny(name, tmp_path / name)
    for each, more in COMMANDS.items():
        check(command(each, str(folder), *more, "--json"))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4)[:, ::2], np.arange(12).reshape(3, 4).T, np.asfortranarray(np.ones((2, 3))),
        np.arange(4, dtype=np.float16)[::-1], np.broadcast_to(np.float32(2), (2, 2)), np.array(["a", "b"]),
        np.zeros((0, 3))[:, ::2], np.asarray(np.float16(0.5)),
    ],
    ids=lambda array: f"{array.dtype} {array.shape} {array.strides}",
)  # fmt: skip
def test_any_array_is_written_as_its_list(array: np.ndarray) -> None:
    assert json_object({"array": array})["array"] == orjson.loads(json.dumps(array.tolist()))
