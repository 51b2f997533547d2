"""What every checkpoint of a training run computes, against transformers, scikit-learn and NumPy on each folder.

Covers `bertviz_core/questions/predictions/followed.py`,
`bertviz_core/questions/predictions/followed.py`, `bertviz_core/questions/predictions/followed.py`,
`bertviz_core/api/results/two_models.py`.
"""

import gc
import json
import shutil
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sklearn.metrics import accuracy_score, f1_score, log_loss
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from bertviz_core import BertvizError, open_training
from bertviz_core.api.training import Training
from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.errors import SupersededError
from bertviz_core.questions import opened as subjects
from bertviz_core.questions.models.training import OpenedTraining
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.followed import (
    SLOW_NBYTES,
    Followed,
    follow_cost,
    followed_states,
    followed_text,
)
from bertviz_core.questions.question import Silent
from bertviz_core.settings import Settings
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.training_runs import CUT_OFF, SAVED, save_run

TEXT, SECOND = "love bank", "my language"
TEXTS = ("i love my pet", "the bank , the river", "love bank", "the python bank", "pet", "my my", "a river")
GOLD = ("LABEL_0", "LABEL_1", "LABEL_0", "LABEL_1", "LABEL_1", "LABEL_0", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run with a checkpoint that is cut off."""
    return save_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def training(folder: Path) -> Training:
    return open_training(folder)


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints of a masked-LM head, the second moved at random."""
    run = tmp_path_factory.mktemp("masked") / "run"
    save_tiny_head("bert", "masked-lm", run / "checkpoint-1")
    shutil.copytree(run / "checkpoint-1", run / "checkpoint-2")
    moved(run / "checkpoint-2")
    return run


def moved(folder: Path) -> None:
    """Add random numbers to the weights of a checkpoint."""
    random = np.random.default_rng(0)
    path = folder / "model.safetensors"
    new = {
        name: value + 0.05 * random.standard_normal(value.shape).astype(value.dtype)
        if value.dtype == np.float32
        else value
        for name, value in load_file(path).items()
    }
    save_file(new, path, metadata={"format": "pt"})


def places(folder: Path) -> list[Path]:
    return [*(folder / f"checkpoint-{step}" for step in SAVED), folder]


@torch.no_grad()
def classes(place: Path, *texts: str) -> tuple[np.ndarray, list[str]]:
    """Probabilities of a text or pair by transformers' own class, and the names of the classes."""
    model = AutoModelForSequenceClassification.from_pretrained(place).eval()
    logits = model(**AutoTokenizer.from_pretrained(place)(*texts, return_tensors="pt")).logits[0]
    return logits.softmax(-1).numpy(), list(model.config.id2label.values())


@torch.no_grad()
def run(place: Path, text: str) -> Any:
    """Output of the base model for a text, with hidden states and attention."""
    model = AutoModel.from_pretrained(place, attn_implementation="eager").eval()
    inputs = AutoTokenizer.from_pretrained(place)(text, return_tensors="pt")
    return model(**inputs, output_hidden_states=True, output_attentions=True)


@pytest.mark.slow
def test_the_answers_by_step_are_those_of_transformers(training: Training, folder: Path) -> None:
    for pair in (None, SECOND):
        found = training.follow(TEXT, pair).data
        assert found.checkpoints == (*(f"checkpoint-{step}" for step in SAVED), FINAL)
        assert found.steps.tolist() == [*SAVED, SAVED[-1]]
        for at, place in enumerate(places(folder)):
            expected, names = classes(place, *(TEXT, *([] if pair is None else [pair])))
            assert found.labels == tuple(names)
            assert found.probabilities is not None
            assert found.probabilities[at] == pytest.approx(expected, abs=1e-6)
            assert found.answers[at] == names[expected.argmax()]
            assert found.scores[at] == pytest.approx(expected.max(), abs=1e-6)
    assert len(set(training.follow(TEXT).data.answers)) == 2, "this text is one whose answer changes"


@pytest.mark.slow
def test_the_cosine_is_that_of_the_mean_vectors_of_each_text_alone(training: Training, folder: Path) -> None:
    found = training.follow(TEXT, SECOND).data
    assert found.cosine is not None
    for at, place in enumerate(places(folder)):
        one, other = (run(place, text).last_hidden_state[0].mean(0) for text in (TEXT, SECOND))
        assert found.cosine[at] == pytest.approx(float(torch.cosine_similarity(one, other, dim=0)), abs=1e-6)
    assert training.follow(TEXT).data.cosine is None
    assert any("says nothing about sentence vectors" in notice for notice in found.notices)


@torch.no_grad()
def test_the_surprise_is_the_mean_over_the_tokens_each_masked_in_turn(masked: Path) -> None:
    text = "the python bank"
    found = open_training(masked).follow(text)
    assert found.data.surprise is not None
    for at, place in enumerate((masked / "checkpoint-1", masked / "checkpoint-2")):
        tokenizer = AutoTokenizer.from_pretrained(place)
        model = AutoModelForMaskedLM.from_pretrained(place).eval()
        inputs = tokenizer(text, return_tensors="pt")
        ids, losses = inputs["input_ids"], []
        for position in range(1, ids.shape[1] - 1):
            hidden = ids.clone()
            hidden[0, position] = tokenizer.mask_token_id
            logits = model(**{**inputs, "input_ids": hidden}).logits[0, position]
            losses.append(-float(logits.log_softmax(-1)[ids[0, position]]))
        assert found.data.surprise[at] == pytest.approx(np.mean(losses), abs=1e-5)
    assert found.data.answers == ("", "")
    assert found.data.probabilities is None
    (sentence,) = found.sentences
    assert sentence.startswith("The mean surprise of a token ")
    assert "without a mask" not in " ".join(found.notices)


@pytest.mark.slow
def test_with_a_mask_its_word_is_the_answer(masked: Path) -> None:
    found = open_training(masked).follow("the [MASK] bank").data
    assert found.surprise is None
    assert all(found.answers)
    with torch.no_grad():
        place = masked / "checkpoint-2"
        tokenizer, model = AutoTokenizer.from_pretrained(place), AutoModelForMaskedLM.from_pretrained(place).eval()
        inputs = tokenizer("the [MASK] bank", return_tensors="pt")
        best = model(**inputs).logits[0, 2].softmax(-1).max(-1)
    assert found.answers[1] == tokenizer.decode([int(best.indices)]).strip()
    assert found.scores[1] == pytest.approx(float(best.values), abs=1e-6)


def test_tags_are_the_answer_of_a_head_for_tokens(tmp_path: Path) -> None:
    labels = {"id2label": {0: "O", 1: "B-ANIMAL"}, "label2id": {"O": 0, "B-ANIMAL": 1}}
    place = save_tiny_head("bert", "token-classification", tmp_path / "run" / "checkpoint-1", **labels)
    found = open_training(tmp_path / "run").follow(TEXT).data
    with torch.no_grad():
        inputs = AutoTokenizer.from_pretrained(place)(TEXT, return_tensors="pt")
        tags = AutoModelForTokenClassification.from_pretrained(place).eval()(**inputs).logits[0, 1:-1].argmax(-1)
    assert found.task == "token-classification"
    assert found.answers[0].count("ANIMAL") == int(tags.sum())


@pytest.mark.slow
def test_accuracy_and_f1_are_those_of_scikit_learn_on_the_answers_of_transformers(
    training: Training, folder: Path
) -> None:
    found = training.scores(TEXTS, GOLD).data
    before: list[str] = []
    for at, place in enumerate(places(folder)):
        rows = [classes(place, text) for text in TEXTS]
        answers = [names[values.argmax()] for values, names in rows]
        assert list(found.answers[at]) == answers
        judged = [(gold, answer) for gold, answer in zip(GOLD, answers, strict=True) if gold]
        gold, given = zip(*judged, strict=True)
        assert found.accuracy[at] == pytest.approx(accuracy_score(gold, given))
        assert found.macro_f1[at] == pytest.approx(f1_score(gold, given, average="macro", zero_division=0))
        names, true = rows[0][1], [rows[0][1].index(label) for label in GOLD if label]
        every = np.array([values for values, _ in rows[:-1]], dtype=np.float64)
        every /= every.sum(axis=1, keepdims=True)
        assert found.brier is not None
        assert found.log_loss is not None
        brier = ((every - np.eye(len(names))[true]) ** 2).sum(axis=1).mean() / (2 if len(names) == 2 else 1)
        assert found.brier[at] == pytest.approx(brier, abs=1e-6)
        assert found.log_loss[at] == pytest.approx(log_loss(true, every, labels=range(len(names))), abs=1e-6)
        assert found.changed[at] == (sum(a != b for a, b in zip(before, answers, strict=True)) if before else 0)
        before = answers
    assert sum(found.changed) > 0
    frame = training.scores(TEXTS, GOLD).answers()
    assert frame["answer of checkpoint-4"].tolist() == list(found.answers[1])
    assert frame["gold label"].tolist() == list(GOLD)


@pytest.mark.slow
def test_the_number_of_a_regression_head_is_exact(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-1"
    save_tiny_head("bert", "sequence-classification", folder, num_labels=1, problem_type="regression")
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        number = model(**tokenizer(TEXT, return_tensors="pt")).logits.item()
    followed = open_training(tmp_path).follow(TEXT)
    assert followed.data.scores[0] == pytest.approx(number, abs=1e-6)
    assert followed.to_pandas()["number"][0] == followed.data.scores[0]


@torch.no_grad()
def test_the_null_score_of_a_head_that_answers_questions_is_followed(tmp_path: Path) -> None:
    for step in (1, 2):
        save_tiny_head("bert", "question-answering", tmp_path / f"checkpoint-{step}", initializer_range=step / 10)
    found = open_training(tmp_path).follow(TEXT, SECOND)
    assert found.data.null_differences is not None
    for at, place in enumerate((tmp_path / "checkpoint-1", tmp_path / "checkpoint-2")):
        inputs = AutoTokenizer.from_pretrained(place)(TEXT, SECOND, return_tensors="pt")
        output = AutoModelForQuestionAnswering.from_pretrained(place).eval()(**inputs)
        start, end = output.start_logits[0], output.end_logits[0]
        inside = [place for place, side in enumerate(inputs.sequence_ids(0)) if side == 1]
        best = max(float(start[i] + end[j]) for i in inside for j in inside if i <= j)
        assert found.data.null_differences[at] == pytest.approx(float(start[0] + end[0]) - best, abs=1e-5)
    assert found.to_pandas()["null difference"].tolist() == found.data.null_differences.tolist()


def test_second_texts_belong_to_the_answers(training: Training, folder: Path) -> None:
    found = training.scores(TEXTS[:2], GOLD[:2], [SECOND, "pet"]).data
    values, names = classes(folder / "checkpoint-6", TEXTS[1], "pet")
    assert found.answers[2][1] == names[values.argmax()]
    assert found.pairs == (SECOND, "pet")


def unbiased_hsic(one: np.ndarray, other: np.ndarray) -> float:
    """Song et al. 2012, equation 5, written out with full matrices."""
    n = len(one)
    k, m = one @ one.T, other @ other.T
    np.fill_diagonal(k, 0)
    np.fill_diagonal(m, 0)
    ones = np.ones(n)
    middle = (ones @ k @ ones) * (ones @ m @ ones) / ((n - 1) * (n - 2))
    return float((np.trace(k @ m) + middle - 2 / (n - 2) * (ones @ k @ m @ ones)) / (n * (n - 3)))


@pytest.mark.slow
def test_cka_and_entropy_are_those_of_numpy_on_the_outputs_of_transformers(training: Training, folder: Path) -> None:
    found = training.layers(TEXTS).data
    assert found.texts == len(TEXTS)
    assert found.entropy is not None
    first: list[np.ndarray] = []
    for at, place in enumerate(places(folder)):
        outputs = [run(place, text) for text in TEXTS]
        states = [
            np.stack([output.hidden_states[layer][0].double().mean(0).numpy() for output in outputs])
            for layer in range(len(outputs[0].hidden_states))
        ]
        first = first or states
        for layer, (then, now) in enumerate(zip(first, states, strict=True)):
            own = np.sqrt(unbiased_hsic(then, then) * unbiased_hsic(now, now))
            assert found.cka[at, layer] == pytest.approx(unbiased_hsic(then, now) / own, abs=1e-4)
        for layer in range(len(outputs[0].attentions)):
            rows = [output.attentions[layer][0].double().numpy() for output in outputs]
            expected = np.mean([-(each * np.log(each)).sum(-1).mean(-1) for each in rows], axis=0)
            assert found.entropy[at, layer] == pytest.approx(expected, abs=1e-5)
    assert found.cka[0] == pytest.approx(1)
    assert (found.cka[1:, 1:] < 0.9999).all()


@pytest.mark.slow
def test_one_model_is_in_memory_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Any]] = []
    most: list[int] = []
    load = subjects.load_model

    def counted(*args: Any, **more: Any) -> Any:
        gc.collect()
        most.append(sum(each() is not None for each in alive))
        loaded = load(*args, **more)
        alive.append(weakref.ref(loaded.model))
        return loaded

    monkeypatch.setattr(subjects, "load_model", counted)
    open_training(folder).layers(TEXTS)
    assert most == [0] * (len(most))
    assert len(most) == len(SAVED) + 2, "the first one is loaded for its vectors, and for its attention"


def counted_loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []
    load = subjects.load_model

    def counted(source: Any, *more: Any) -> Any:
        read.append(source.folder.name)
        return load(source, *more)

    monkeypatch.setattr(subjects, "load_model", counted)
    return read


@pytest.mark.slow
def test_a_run_that_grows_costs_its_new_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_run(tmp_path / "run")
    read, training = counted_loads(monkeypatch), open_training(folder)
    first = training.follow(TEXT).data
    assert read == [*(f"checkpoint-{step}" for step in SAVED), "run"]
    training.follow(TEXT)
    training.layers(TEXTS)
    read.clear()
    shutil.copy(folder / "checkpoint-8" / "model.safetensors", folder / f"checkpoint-{CUT_OFF}")
    second = training.follow(TEXT).data
    assert read == [f"checkpoint-{CUT_OFF}"]
    assert training.layers(TEXTS).data.checkpoints[-2] == f"checkpoint-{CUT_OFF}"
    assert read == [f"checkpoint-{CUT_OFF}"] * 2
    assert second.scores[:4].tolist() == first.scores[:4].tolist()


@pytest.mark.slow
def test_what_is_done_before_a_cancellation_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, shown = OpenedTraining(folder, Settings.from_environment(any_folder=True)), []
    read = counted_loads(monkeypatch)

    class Stops(Silent):
        """Cancels the work after three checkpoints."""

        def __call__(self, done: int, total: int, /) -> None:
            if done == 3:
                raise SupersededError

        def show(self, so_far: Any, /) -> None:
            shown.append(so_far.result)

    with pytest.raises(SupersededError):
        followed_text(opened, Options((TEXT,)), Stops())
    assert [(len(each.checkpoints), each.waiting) for each in shown] == [(1, 4), (2, 3)]
    read.clear()
    followed_text(opened, Options((TEXT,)))
    assert read == ["checkpoint-8", "run"]


@pytest.mark.slow
def test_a_checkpoint_that_cannot_be_run_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    folder = save_run(tmp_path / "run", cut_off=False)
    config = json.loads((folder / "checkpoint-2" / "config.json").read_text())
    (folder / "checkpoint-2" / "config.json").write_text(json.dumps({**config, "quantization_config": {"bits": 4}}))
    (folder / "checkpoint-6" / "tokenizer.json").unlink()
    (folder / "checkpoint-6" / "tokenizer_config.json").unlink()
    training = open_training(folder)
    for found in (training.follow(TEXT).data, training.scores(TEXTS, GOLD).data, training.layers(TEXTS).data):
        assert found.checkpoints == ("checkpoint-4", "checkpoint-8", FINAL)
        left = [notice.partition(":")[0] for notice in found.notices if "left out:" in notice]
        assert left == ["'checkpoint-2' is left out", "'checkpoint-6' is left out"]
    assert training.layers(TEXTS).data.cka[0] == pytest.approx(1)
    for place in (folder, *folder.glob("checkpoint-*")):
        (place / "config.json").write_text(json.dumps({**config, "quantization_config": {"bits": 4}}))
    for ask in (lambda: training.follow(TEXT), lambda: training.layers(TEXTS)):
        with pytest.raises(BertvizError, match="are quantized"):
            ask()


@pytest.mark.slow
def test_texts_that_no_checkpoint_can_read_are_one_sentence(training: Training, folder: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    for place in places(folder)[:2]:
        model = AutoModel.from_pretrained(place)
        model.save_pretrained(base / place.name)
        AutoTokenizer.from_pretrained(place).save_pretrained(base / place.name)
    for ask, message in (
        (lambda: training.follow(" "), "The text is empty"),
        (lambda: training.scores(TEXTS, ["cat"] * len(TEXTS)), r"No gold label \('cat'\) is a class of the task head"),
        (lambda: training.scores(TEXTS, GOLD[:2]), "give one for each"),
        (lambda: training.scores(TEXTS, [""] * len(TEXTS)), "no text has a label"),
        (lambda: training.layers(TEXTS[:3]), "at least 4"),
        (lambda: open_training(base).follow(TEXT), "no task head that answers one text"),
    ):
        with pytest.raises(BertvizError, match=message):
            ask()
    assert open_training(base).follow(TEXT, SECOND).data.cosine is not None


def test_only_large_runs_have_to_be_confirmed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = OpenedTraining(folder, Settings.from_environment(any_folder=True))
    assert follow_cost(opened, 3).slow == ""
    assert follow_cost(opened, 3).steps == 15
    monkeypatch.setattr(f"{follow_cost.__module__}.SLOW_NBYTES", 1000)
    assert "5 checkpoints" in follow_cost(opened, 3).slow
    assert SLOW_NBYTES > 1000
    assert followed_states.cost is not None


def test_what_several_checkpoints_say_alike_is_one_sentence() -> None:
    series = Followed(
        ("checkpoint-2", "checkpoint-4", "checkpoint-6"),
        ("run/checkpoint-2", "run/checkpoint-4", "run/checkpoint-6"),
        np.array([2, 4, 6]),
        (0, 0, 0),
        ("of the run",),
        0,
    )
    own = [[f"{name}: its author's own code is not run.", "of every text"] for name in series.models]
    own[2].append("of the last alone")
    assert series.notices_with(own) == (
        "of the run",
        "run/checkpoint-2: its author's own code is not run. So it is with 2 further checkpoints.",
        "of every text",
        "of the last alone",
    )
