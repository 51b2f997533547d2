"""`python -m bertviz_core similarity` and `embed`: JSON contract, metadata in files, refusals."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics.pairwise import cosine_similarity
from transformers import DPRConfig, DPRQuestionEncoder

from bertviz_core.models.catalog import FINE_TUNED, bundled_folder
from tests.cli.conftest import Command
from tests.helpers.tiny_models import BASE, HIDDEN, save_tiny, tiny_tokenizer

MODEL = "all-MiniLM-L6-v2"
SENTENCES = ("A cat sat on the mat.", "The feline rested on a rug.", "Stocks fell on Monday.")


SIZES = {name: value for name, value in BASE.items() if name != "num_hidden_layers"}


def test_the_similarity_of_three_sentences(command: Command) -> None:
    done = command("similarity", MODEL, *SENTENCES, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found.keys() >= {"sentences", "similarity", "pooling", "dimensions"}
    assert (found["sentences"], found["pooling"], found["dimensions"]) == (list(SENTENCES), "mean", 384)
    matrix = np.array(found["similarity"])
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.diag(matrix).tolist() == [1, 1, 1]
    assert matrix[0, 1] > 0.4 > matrix[0, 2]
    assert "checkpoint's own modules" in done.stderr


@pytest.mark.slow
def test_a_second_model_stands_beside_the_first(command: Command) -> None:
    """The cosines of both are those of the library that trained them."""
    from sentence_transformers import SentenceTransformer

    cosines = []
    for name in (MODEL, FINE_TUNED):
        vectors = SentenceTransformer(str(bundled_folder(name)), device="cpu").encode(list(SENTENCES))
        cosines.append(cosine_similarity(vectors))
    found = json.loads(command("similarity", MODEL, *SENTENCES, "--other", FINE_TUNED, "--json").stdout)
    np.testing.assert_allclose(found["first_similarity"], cosines[0], atol=1e-5)
    np.testing.assert_allclose(found["second_similarity"], cosines[1], atol=1e-5)
    np.testing.assert_allclose(found["difference"], cosines[1] - cosines[0], atol=1e-5)
    assert found["second_pairs"]["mean"] == pytest.approx(cosines[1][np.triu_indices(3, 1)].mean(), abs=1e-5)
    assert found["same_nearest"] == sum(np.equal(found["first_nearest"], found["second_nearest"]))
    lines = command("similarity", MODEL, *SENTENCES, "--other", FINE_TUNED).stdout.splitlines()
    assert lines[:2] == [f"{MODEL} (first) and {FINE_TUNED} (second): 3 sentences", found["summary"]]
    refused = command("similarity", MODEL, *SENTENCES[:2], "--other", FINE_TUNED)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)


@pytest.mark.slow
def test_a_file_of_pairs_is_correlated_with_its_gold_similarities(command: Command, tmp_path: Path) -> None:
    """SciPy's correlations of the cosines that `similarity` prints."""
    pairs = [(SENTENCES[0], SENTENCES[1], 4.0), (SENTENCES[0], SENTENCES[2], 0.5), (SENTENCES[1], SENTENCES[2], 0.0)]
    file = tmp_path / "pairs.tsv"
    file.write_text("\n".join(["score\tsentence2\tsentence1", *(f"{c}\t{b}\t{a}" for a, b, c in pairs)]))
    gold = [score for _, _, score in pairs]
    found = json.loads(command("similarity", MODEL, "--file", str(file), "--other", FINE_TUNED, "--json").stdout)
    assert (found["pairs"], found["gold"]) == (3, gold)
    for each, name in zip(found["models"], (MODEL, FINE_TUNED), strict=True):
        matrix = np.array(json.loads(command("similarity", name, *SENTENCES, "--json").stdout)["similarity"])
        cosines = matrix[np.triu_indices(3, 1)]
        assert each["model"] == name
        assert each["spearman"] == pytest.approx(spearmanr(cosines, gold).statistic)
        assert each["pearson"] == pytest.approx(pearsonr(cosines, gold).statistic, abs=1e-6)
    alone = command("similarity", MODEL, "--file", str(file))
    assert alone.stdout.splitlines()[0] == "cosine and gold similarity of 3 pairs"
    for wrong, output in ((["--gold", "id"], "no column 'id'"), ([*SENTENCES], "either sentences or a --file")):
        refused = command("similarity", MODEL, "--file", str(file), *wrong)
        assert (refused.returncode, output in refused.stderr) == (2, True)
    assert "either sentences or a --file" in command("similarity", MODEL).stderr


def test_pooling_and_layer_can_be_chosen(command: Command) -> None:
    found = json.loads(command("similarity", MODEL, *SENTENCES, "--pooling", "cls", "--layer", "2", "--json").stdout)
    assert (found["pooling"], found["layer"]) == ("cls", 2)
    table = command("similarity", MODEL, *SENTENCES[:2], "--pooling", "pooler").stdout.splitlines()
    pooled = "pooler of entry 6 of the hidden states, after layer 5"
    assert table[0] == f"{MODEL}: cosine of sentence vectors ({pooled}, 384 dimensions)"
    assert len(table) == 5


def test_no_sentence_is_too_strange(command: Command) -> None:
    done = command("similarity", MODEL, "", "a\x1b[31mb\u202ec", "a\ud800b\udcff", "👨‍👩‍👧‍👦", "--json")
    assert (done.returncode, len(json.loads(done.stdout)["similarity"])) == (0, 4)
    assert "\x1b" not in command("similarity", MODEL, "a\x1b[31mb\u202ec").stdout


@pytest.mark.slow
def test_a_prompt_is_chosen_by_its_name(command: Command, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    folder = checkpoint_with_prompts(tmp_path / "model")
    library = SentenceTransformer(str(folder), device="cpu")
    (tmp_path / "list.txt").write_text("\n".join(SENTENCES))
    for name, text in (("", "my pet "), ("query", "the river : "), ("none", "")):
        prompt = ("--prompt", name) if name else ()
        done = command("similarity", str(folder), *SENTENCES, *prompt, "--json")
        found = json.loads(done.stdout)
        assert found["prompt"] == text
        vectors = library.encode(list(SENTENCES), prompt=text)
        np.testing.assert_allclose(found["similarity"], library.similarity(vectors, vectors), atol=1e-5)
        assert (repr(text) in done.stderr) == bool(text)
        out = tmp_path / "out.npy"
        assert command("embed", str(folder), str(tmp_path / "list.txt"), "-o", str(out), *prompt).returncode == 0
        np.testing.assert_allclose(np.load(out), vectors, rtol=1e-5, atol=1e-5)
        assert json.loads(out.with_name("out.npy.json").read_text())["prompt"] == text
    refused = command("similarity", str(folder), "a", "--prompt", "passage")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "'query', 'document'" in refused.stderr


def checkpoint_with_prompts(folder: Path) -> Path:
    """A tiny model with two prompts in its files, the second as its default."""
    save_tiny("bert", folder)
    listed = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (kind, path) in enumerate((("Transformer", ""), ("Pooling", "1_Pooling")))
    ]
    config = {"prompts": {"query": "the river : ", "document": "my pet "}, "default_prompt_name": "document"}
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    return folder


def test_one_sentence_is_one_vector(command: Command, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("A river.\n")
    done = command("embed", MODEL, str(tmp_path / "list.txt"), "-o", str(tmp_path / "out.npy"))
    assert "\n1 vector of 384 numbers written to" in f"\n{done.stderr}"


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npy"])
def test_a_file_of_sentences_becomes_a_file_of_vectors(command: Command, tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "list.csv", tmp_path / f"out{ending}"
    source.write_text("id,text\n" + "".join(f'{place},"{text}"\n' for place, text in enumerate(SENTENCES)))
    done = command("embed", MODEL, str(source), "--column", "text", "-o", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    assert "3 vectors of 384 numbers written" in done.stderr
    if ending == ".parquet":
        table = pyarrow.parquet.read_table(out)
        facts = json.loads(table.schema.metadata[b"inside_bert"])
        assert table["sentence"].to_pylist() == list(SENTENCES)
    else:
        facts = json.loads(out.with_name(f"{out.name}.json").read_text())
    assert (facts["model"], facts["pooling"], facts["layer"], facts["sentences"]) == (MODEL, "mean", 6, 3)
    assert facts["revision"]
    assert not list(tmp_path.glob("*.part"))


def test_a_second_time_gives_the_same_file(monkeypatch: pytest.MonkeyPatch, command: Command, tmp_path: Path) -> None:
    monkeypatch.setenv("INSIDE_BERT_VECTOR_STORE_DIR", str(tmp_path / "store"))
    source = tmp_path / "list.txt"
    source.write_text("\n".join(SENTENCES))
    for name in ("first.npy", "second.npy"):
        assert command("embed", MODEL, str(source), "--layer", "4", "-o", str(tmp_path / name)).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "first.npy"), np.load(tmp_path / "second.npy"))
    assert (tmp_path / "store").is_dir()


def test_what_the_model_says_of_itself_is_printed(command: Command, tmp_path: Path) -> None:
    """An encoder-decoder, and a family that names no last hidden state."""
    folder = str(save_tiny("bart", tmp_path / "bart"))
    (tmp_path / "list.txt").write_text("\n".join(SENTENCES))
    for words in (("similarity", folder, *SENTENCES), ("embed", folder, str(tmp_path / "list.txt"), "-o", "x.npy")):
        done = command(*words[:-1], str(tmp_path / words[-1])) if words[0] == "embed" else command(*words)
        assert done.returncode == 0
        assert "only the encoder is run" in done.stderr
    dpr = DPRQuestionEncoder(DPRConfig(num_hidden_layers=2, **SIZES))
    dpr.save_pretrained(tmp_path / "dpr")
    tiny_tokenizer().save_pretrained(tmp_path / "dpr")
    found = json.loads(command("similarity", str(tmp_path / "dpr"), *SENTENCES, "--json").stdout)
    assert (found["dimensions"], np.shape(found["similarity"])) == (HIDDEN, (3, 3))


@pytest.fixture
def heard_interrupts() -> Iterator[None]:
    """Processes started now receive Ctrl-C, which a shell disables for background processes."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("heard_interrupts")
def test_an_interrupted_embed_ends_with_130_and_a_sentence(tmp_path: Path) -> None:
    """Ctrl-C while the model runs; the libraries' threads must not end the process by their own signal."""
    (tmp_path / "list.txt").write_text("\n".join(f"sentence {place} of a list" for place in range(20_000)))
    command_line = (sys.executable, "-m", "bertviz_core", "embed", MODEL, str(tmp_path / "list.txt"), "-o", "out.npy")
    environment = {**os.environ, "INSIDE_BERT_ALLOW_HUB": "0", "INSIDE_BERT_VECTOR_STORE_DIR": str(tmp_path / "store")}
    reader, terminal = pty.openpty()  # the progress bar, which shows that the model runs, needs a terminal
    with subprocess.Popen(command_line, stderr=terminal, env=environment) as embedding:
        os.close(terminal)
        output = b""
        while b"Sentences" not in output:
            output += os.read(reader, 4096)
        embedding.send_signal(signal.SIGINT)
        with suppress(OSError):  # raised by a terminal whose program has ended
            while piece := os.read(reader, 4096):
                output += piece
    os.close(reader)
    assert embedding.returncode == 130
    assert output.decode().splitlines()[-1].startswith("Interrupted. The vectors made so far are kept")
    assert b"Traceback" not in output
    assert b"terminate" not in output


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("similarity", MODEL), "sentences"),
        (("similarity", MODEL, "a", "--pooling", "median"), "mean, cls, max, pooler"),
        (("similarity", MODEL, "a", "--prompt", "query"), "the checkpoint names none"),
        (("similarity", MODEL, "a", "--layer", "7"), "0 (the embedding output) to 6"),
        (("similarity", MODEL, "a", "--layer", "-1"), "0 (the embedding output) to 6"),
        (("similarity", MODEL, "a", "--layer", "3", "--pooling", "pooler"), "last layer"),
        (("similarity", "no-such-model", "a"), "no-such-model"),
        (("similarity", MODEL, "a", "b", "--gold", "score"), "--gold names a column of a --file"),
        (("similarity", MODEL, "a", "b", "--pair", "x"), "--pair names a column of a --file"),
        (("embed", MODEL, "list.txt"), "Missing parameter: out"),
        (("embed", MODEL, "gone.txt", "-o", "out.npy"), "check that it is there"),
        (("embed", MODEL, "list.txt", "-o", "out.xlsx"), ".parquet, .csv, .npy"),
        (("embed", MODEL, "list.txt", "-o", "nowhere/out.npy"), "make it first"),
        (("embed", MODEL, "list.csv", "--column", "words", "-o", "out.npy"), "'words'"),
        (("embed", MODEL, "broken.csv", "-o", "out.npy"), "Line 3"),
        (("embed", MODEL, "list.txt", "-o", "out.npy", "--dtype", "int8"), "float32, bfloat16 or float16"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_a_user_can_cause_is_one_line_and_exit_code_2(
    command: Command, arguments: tuple[str, ...], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.txt").write_text("one\ntwo\n")
    Path("list.csv").write_text("id,text\n1,one\n")
    Path("broken.csv").write_text("id,text\n1,one\n2\n")
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert word in done.stderr
    assert not list(tmp_path.glob("out*"))
