"""The three heads of BGE-M3 against FlagEmbedding's definitions written out, in command, library and page.

Covers `bertviz_core/predictions/three_heads.py`, `bertviz_core/predictions/late_interaction_modules.py`,
`bertviz_core/questions/views/vectors/heads.py`.
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.cli.app import main
from bertviz_core.errors import BertvizError
from tests.helpers.multi_vector import DIMENSIONS, save_heads
from tests.helpers.tiny_models import HIDDEN

QUERY = "the river bank river"
TEXTS = ("I love my pet python.", "the bank", "a river, my river and the bank", "pets love a bank", "river bank " * 9)


def expected(folder: Path) -> tuple[np.ndarray, list[dict[int, float]]]:
    """(3, texts) scores as FlagEmbedding defines them, one text at a time, and the weights of tokens."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    sparse, colbert = (load_file(folder / f"{name}.safetensors") for name in ("sparse_linear", "colbert_linear"))
    names = ("cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id", "unk_token_id")
    unused = {getattr(tokenizer, name) for name in names}
    made: list[tuple[torch.Tensor, dict[int, float], torch.Tensor]] = []
    for text in (QUERY, *TEXTS):
        inputs = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = model(**inputs).last_hidden_state[0]
        weights = torch.relu(states @ sparse["weight"].T + sparse["bias"])[:, 0]
        words: dict[int, float] = {}
        for index, weight in zip(inputs["input_ids"][0].tolist(), weights.tolist(), strict=True):
            if index not in unused and weight > words.get(index, 0):
                words[index] = weight
        vectors = torch.nn.functional.normalize(states[1:] @ colbert["weight"].T + colbert["bias"], dim=-1)
        made.append((torch.nn.functional.normalize(states[0], dim=-1), words, vectors))
    (dense, words, vectors), texts = made[0], made[1:]
    rows = [
        [float(dense @ other) for other, _, _ in texts],
        [sum(weight * other.get(index, 0) for index, weight in words.items()) for _, other, _ in texts],
        [float((vectors @ other.T).max(-1).values.sum() / len(vectors)) for _, _, other in texts],
    ]
    return np.array(rows), [each for _, each, _ in made]


@pytest.mark.parametrize("family", ["xlm-roberta", "bert", "modernbert"])
def test_scores_are_those_of_the_definitions(family: str, tmp_path: Path) -> None:
    folder = save_heads(tmp_path / "model", family)
    rows, words = expected(folder)
    result = open_model(str(folder)).three_heads(QUERY, TEXTS, weights=(0.4, 0.2, 0.5)).data
    found = np.stack([result.dense, result.sparse, result.multi_vector])
    assert np.abs(found - rows).max() < 1e-5
    assert np.abs(result.scores - np.array([0.4, 0.2, 0.5]) @ rows / 1.1).max() < 1e-5
    assert result.order.tolist() == np.argsort(-result.scores, kind="stable").tolist()
    assert rows[1].any()
    for place, shared in enumerate(result.shared):
        common = set(words[0]) & set(words[place + 1])
        products = sorted((words[0][index] * words[place + 1][index] for index in common), reverse=True)
        np.testing.assert_allclose(shared.products, products, atol=1e-5)
        assert shared.products.sum() == pytest.approx(result.sparse[place], abs=1e-5)


def test_late_interaction_and_rank_take_the_multi_vector_head(tmp_path: Path) -> None:
    folder = save_heads(tmp_path / "model")
    rows, _ = expected(folder)
    model = open_model(str(folder))
    for place, text in enumerate(TEXTS):
        compared = model.late_interaction(QUERY, text)
        assert compared.score == pytest.approx(rows[2][place], abs=1e-5)
        assert compared.data.dimensions == DIMENSIONS
    assert "in the format of BGE-M3: a projection to 7 dimensions, unit length" in compared.notices[-2]
    ranking = model.rank(QUERY, TEXTS, beside="own")
    assert np.abs(ranking.scores - rows[2]).max() < 1e-5
    target = model.words(TEXTS[2], pair=QUERY, target="late-interaction")
    assert target.data.clean == pytest.approx(rows[2][2], abs=1e-5)


def test_the_command_prints_the_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_heads(tmp_path / "model")
    rows, _ = expected(folder)
    words = ["bertviz_core", "three-heads", str(folder), QUERY, *TEXTS, "--weights", "1,0.3,1"]

    def printed(*more: str) -> str:
        monkeypatch.setattr(sys, "argv", [*words, *more])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    answer = json.loads(printed("--json"))
    by_row = {each["row"]: each for each in answer["scores"]}
    for place in range(len(TEXTS)):
        each = by_row[place]
        assert np.abs(np.array([each["dense"], each["sparse"], each["multi_vector"]]) - rows[:, place]).max() < 1e-5
        assert each["score"] == pytest.approx(float(np.array([1, 0.3, 1]) @ rows[:, place] / 2.3), abs=1e-5)
    assert "multi-vector" in printed()


def test_pickles_are_refused_with_the_line_that_converts_them(tmp_path: Path) -> None:
    folder = save_heads(tmp_path / "model", ending="pt")
    model = open_model(str(folder))
    with pytest.raises(BertvizError, match="which can run code and are not opened") as refused:
        model.three_heads(QUERY, TEXTS)
    sentence = str(refused.value)
    assert any(
        "sparse_linear.pt and colbert_linear.pt are pickle files" in each for each in model.sentences(TEXTS).notices
    )
    line = sentence.partition("folder by ")[2]
    subprocess.run([sys.executable, *shlex.split(line)[1:]], cwd=folder, check=True)
    rows, _ = expected(folder)
    converted = open_model(str(folder))
    assert np.abs(converted.three_heads(QUERY, TEXTS).data.dense - rows[0]).max() < 1e-5
    assert not any("pickle" in each for each in converted.sentences(TEXTS).notices)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "width": ({"colbert_linear": {"weight": torch.ones(DIMENSIONS, 5)}}, "reads states of 5 numbers"),
    "rows": ({"sparse_linear": {"weight": torch.ones(2, HIDDEN), "bias": torch.ones(2)}}, "makes 2 numbers of a token"),
    "bias": ({"colbert_linear": {"bias": torch.ones(3)}}, r"and a bias of shape \(3,\)"),
    "nan": ({"sparse_linear": {"bias": torch.tensor([torch.nan])}}, "holds NaN or infinity"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_heads_are_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    wrong, message = BAD[case]
    folder = save_heads(tmp_path / "model", **wrong)
    for asked in (lambda model: model.three_heads(QUERY, TEXTS), lambda model: model.late_interaction(QUERY, TEXTS[0])):
        with pytest.raises(BertvizError, match=message) as refused:
            asked(open_model(str(folder)))
        assert "\n" not in str(refused.value)


def test_one_head_no_head_and_wrong_weights_are_refused(tmp_path: Path) -> None:
    folder = save_heads(tmp_path / "model")
    for weights in ((1, 1), (0, 0, 0), (-1, 1, 1), (float("nan"), 1, 1)):
        with pytest.raises(BertvizError, match="is not three weights of the dense, sparse, multi-vector score"):
            open_model(str(folder)).three_heads(QUERY, TEXTS, weights=weights)
    (folder / "colbert_linear.safetensors").unlink()
    with pytest.raises(BertvizError, match=r"one of the two heads of BGE-M3, and no colbert_linear\.safetensors"):
        open_model(str(folder)).three_heads(QUERY, TEXTS)
    (folder / "sparse_linear.safetensors").unlink()
    with pytest.raises(BertvizError, match="has not the heads of BGE-M3"):
        open_model(str(folder)).three_heads(QUERY, TEXTS)
