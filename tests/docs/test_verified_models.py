"""The job that verifies checkpoints of the Hub, on a small server: what is equal, what differs, what is refused."""

import json
import re
from pathlib import Path

import huggingface_hub.constants
import pytest
from safetensors.numpy import load, save
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from docs.verified_models import DOCUMENT, MUCH_USED, document, verified
from tests.helpers.hub_server import COMMIT, running_hub
from tests.helpers.tiny_models import save_tiny


@pytest.mark.slow
def test_equal_and_different_checkpoints_have_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    encoder = Transformer(str(save_tiny("bert", tmp_path)))
    pooling = Pooling(encoder.get_embedding_dimension(), "cls")
    SentenceTransformer(modules=[encoder, pooling, Normalize()], device="cpu").save(str(tmp_path / "made"))
    paths = (path for path in (tmp_path / "made").rglob("*") if path.is_file())
    files = {path.relative_to(tmp_path / "made").as_posix(): path.read_bytes() for path in paths}
    tokenizer = json.loads(files["tokenizer.json"])
    vocabulary = tokenizer["model"]["vocab"]
    one, other = list(vocabulary)[-2:]
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    swapped = {**files, "tokenizer.json": json.dumps(tokenizer).encode()}
    weights = load(files["model.safetensors"])
    count = sum(tensor.size for tensor in weights.values())
    with running_hub() as hub:
        hub.repositories["lab/good"] = files
        hub.repositories["lab/more"] = {
            **files,
            "model.safetensors": save({**weights, "head": weights["pooler.dense.bias"]}),
        }
        hub.repositories["lab/none"] = {name: content for name, content in files.items() if name != "config.json"}
        hub.repositories["lab/fast"] = swapped
        hub.parameters = {"lab/good": count, "lab/more": count}
        names = ("good", "more", "none", "gone", "fast")
        good, more, none, gone, fast = (verified(f"lab/{name}", hub.endpoint) for name in names)
    assert (good.revision, good.tokens, good.parameters, good.refusal) == (COMMIT, "equal", f"{count:,}, equal", "")
    assert float(good.cosine) > 1 - 1e-6
    assert more.parameters == f"{count + weights['pooler.dense.bias'].size:,}, the Hub {count:,}"
    assert "config.json" in none.refusal
    assert gone.refusal
    assert (fast.tokens, fast.parameters) == ("equal", "the Hub counts none")
    assert all(each.cosine == "-" for each in (none, gone))


def test_an_empty_table_says_so_and_names_are_ids() -> None:
    assert "nobody with a network has run the job" in document()
    assert document(["| a | b |\n"]).endswith("| a | b |\n")
    assert DOCUMENT.read_text(encoding="utf-8").startswith(document().partition("| model |")[0])
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+", each) for each in MUCH_USED)
    assert len(MUCH_USED) == len(set(MUCH_USED)) >= 30
