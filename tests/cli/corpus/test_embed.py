"""`corpus embed` and `corpus info`: their output, and refusals in one line.

Covers `bertviz_core/cli/corpus.py`.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, PreTrainedModel

from bertviz_core import open_corpus as open_result
from bertviz_core.corpus.folder import open_corpus
from tests.cli.conftest import Command
from tests.helpers.made_adapters import random_class, save_adapter, saved_base
from tests.helpers.made_corpora import DIMENSIONS, ROWS, made_corpus
from tests.helpers.tiny_models import FAMILIES, WORDS, tiny_tokenizer
from tests.pages.opened import opened

MODEL = "all-MiniLM-L6-v2"
CSV = "id,text,kind\n" + "".join(f'{row},"Sentence {row}, with a comma",{"ab"[row % 2]}\n' for row in range(9))


def test_one_row_is_one_vector(tmp_path: Path, command: Command) -> None:
    (tmp_path / "row.csv").write_text("text\nA river.\n")
    done = command("corpus", "embed", MODEL, str(tmp_path / "row.csv"), "-o", str(tmp_path / "out"))
    assert "\n1 vector of 384 numbers is in" in f"\n{done.stderr}"


@pytest.mark.slow
def test_a_file_becomes_a_corpus_that_info_describes(tmp_path: Path, command: Command) -> None:
    (tmp_path / "rows.csv").write_text(CSV)
    out = tmp_path / "out"
    done = command("corpus", "embed", MODEL, str(tmp_path / "rows.csv"), "-o", str(out), "--dtype", "float32")
    assert (done.returncode, done.stdout) == (0, "")
    assert "9 vectors of 384 numbers are in" in done.stderr
    output = json.loads(command("corpus", "info", str(out), "--json").stdout)
    assert (output["rows"], output["dimensions"], output["model"], output["pooling"]) == (9, 384, MODEL, "mean")
    assert [column["name"] for column in output["columns"]] == ["id", "kind", "text", "tokens", "truncated"]
    assert output["revision"]
    np.testing.assert_allclose(np.linalg.norm(open_corpus(out).vectors(), axis=1), 1, atol=1e-5)


def peft_means(merged: PreTrainedModel, texts: list[str]) -> np.ndarray:
    """Mean of the last hidden states of each text, by the model that peft merged."""
    tokenizer = tiny_tokenizer(FAMILIES["bert"].pad)
    with torch.no_grad():
        states = [merged(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in texts]
    return np.stack([each.mean(dim=0).numpy() for each in states])


@pytest.mark.slow
def test_an_adapter_embeds_as_the_model_that_peft_merged(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", "corpora")
    base = saved_base(random_class(AutoModel, "bert"), tmp_path / "models" / "base")
    adapter = tmp_path / "models" / "mine"
    merged = save_adapter(random_class(AutoModel, "bert"), "base", adapter, target_modules=["query", "value"])
    texts = [" ".join(WORDS[first : first + 1 + 2 * first]) for first in range(3)]
    (tmp_path / "rows.csv").write_text("\n".join(("text", *texts)))
    ways = {"mine": ["local"], f"{adapter}+{base}": ["processes", "--processes", "1"]}
    for place, (name, runner) in enumerate(ways.items()):
        out = f"corpora/{place}"
        done = command("corpus", "embed", name, "rows.csv", "-o", out, "--dtype", "float32", "--runner", *runner)
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(open_corpus(Path(out)).vectors(), peft_means(merged, texts), rtol=0, atol=1e-6)
    first = open_result("corpora/0").search(texts[2]).to_pandas().iloc[0]
    assert (first["row"], first["text"]) == (2, texts[2])
    at = opened("corpus", corpus="0", view="Search", corpus_query=texts[2])
    assert not at.exception
    assert at.dataframe[0].value["row"].tolist()[0] == 2


def test_info_prints_a_table(tmp_path: Path, command: Command) -> None:
    made_corpus(tmp_path / "made")
    done = command("corpus", "info", str(tmp_path / "made"))
    assert done.returncode == 0
    for words in (f"{ROWS:,} in 3 shards", f"{DIMENSIONS} numbers in float16", "kind", "number"):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--runner", "threads"], "There is no --runner 'threads'; give local, processes, ray."),
        (["--dtype", "int8"], "There is no --dtype 'int8'; give float16, float32."),
        (["--pooling", "median"], "There is no --pooling 'median'"),
        (["--processes", "2"], "--processes needs --runner processes or --runner ray."),
        (["--processes", "0", "--runner", "processes"], "--processes is '0'; give a whole number from 1."),
        (["--address", "auto"], "--address names a Ray cluster; give --runner ray with it."),
        (["--batch-tokens", "many"], "--batch-tokens is 'many'; give a whole number from 1."),
        (["--layer", "9"], "There is no layer 9"),
        (["--prompt", "query"], "There is no prompt 'query'"),
        (["--column", "body"], "has no column 'body'; it has 'id', 'text', 'kind'."),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(
    tmp_path: Path, command: Command, options: list[str], words: str
) -> None:
    (tmp_path / "rows.csv").write_text(CSV)
    done = command("corpus", "embed", MODEL, str(tmp_path / "rows.csv"), "-o", str(tmp_path / "out"), *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_folder_that_is_no_corpus_is_refused(tmp_path: Path, command: Command) -> None:
    done = command("corpus", "info", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is no corpus folder" in done.stderr
