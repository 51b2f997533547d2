"""`python -m bertviz_core swaps`: files of pairs and templates, sets, refusals; the same numbers as the method."""

import json
from pathlib import Path

import pytest

from bertviz_core import open_model
from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head

PAIRS = [("pet", "python"), ("river", "bank of the river"), ("my", "love my")]
TEMPLATES = ["I love my {}.", "the {} bank", "{} in coding"]
SECONDS = ["a pet", "the river", "coding"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swaps")
    save_tiny_head("bert", "sequence-classification", folder / "classes", num_labels=4)
    save_tiny_head("roberta", "masked-lm", folder / "words")
    return folder


@pytest.mark.slow
def test_the_command_prints_what_the_method_gives(models: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "pairs.txt").write_text("\n".join(f"{first} / {second}" for first, second in PAIRS))
    rows = [f'"{text}",{second}' for text, second in zip(TEMPLATES, SECONDS, strict=True)]
    (tmp_path / "templates.csv").write_text("\n".join(["text,second", *rows]))
    (tmp_path / "pairs.csv").write_text("\n".join(["one,other", *(",".join(pair) for pair in PAIRS)]))
    templates = ("--templates", str(tmp_path / "templates.csv"), "--column", "text")
    expected = open_model(models / "classes").word_swaps(PAIRS, list(zip(TEMPLATES, SECONDS, strict=True))).to_json()
    for pairs in ("pairs.txt", "pairs.csv"):
        done = command("swaps", str(models / "classes"), "--pairs", str(tmp_path / pairs), *templates, "--json")
        assert done.returncode == 0, done.stderr
        printed = json.loads(done.stdout)
        assert {key: printed[key] for key in printed.keys() - {"notices"}} == {
            key: expected[key] for key in expected.keys() - {"notices"}
        }
    shown = command("swaps", str(models / "words"), "--set", "pronouns", "--swap-output", "mean surprise")
    assert shown.returncode == 0, shown.stderr
    assert "he → they" in shown.stdout
    assert "pseudo" not in shown.stdout
    refused = command("swaps", str(models / "words"), "--swaps-by", "classes")
    assert refused.returncode == 2
    assert "has no task head with classes" in refused.stderr
    assert "--swaps-by=surprise or cosine" in refused.stderr
