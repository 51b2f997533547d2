"""`python -m bertviz_core predict`: the JSON contract of every task, tables, files, exit code 2 with one line.

Covers `bertviz_core/questions/predictions/predict.py`, `bertviz_core/questions/tables/predictions.py`.
"""

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bertviz_core import open_model
from tests.cli.conftest import Command, alone
from tests.helpers.tiny_heads import save_tiny_head

GAP = "The capital of France is [MASK]."
SPLADE, PLACES = "splade-tiny", "negations/checkpoint-80"


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "predict")


@pytest.mark.slow
def test_as_a_shell_runs_it() -> None:
    done = alone("predict", SPLADE, GAP, "--json", "--top", "3")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    answer = json.loads(done.stdout)
    assert (answer["task"], answer["model_class"]) == ("masked-lm", "BertForMaskedLM")
    gap = answer["positions"][6]
    assert (gap["token"], gap["rank"], gap["log_probability"], len(gap["top"])) == ("[MASK]", None, None, 3)
    assert gap["top"][0].keys() == {"token", "id", "probability", "log_probability", "logit"}
    assert gap["top"][0]["token"] == "city"
    assert [place["position"] for place in answer["positions"]] == list(range(len(answer["tokens"])))


@pytest.mark.slow
def test_every_view_of_a_masked_lm(run: Command) -> None:
    surprise = json.loads(run(SPLADE, "Paris is a city.", "--view", "surprise", "--json").stdout)
    output = [value for value in surprise["surprise"] if value is not None]
    assert surprise["perplexity"] == pytest.approx(float(np.exp(np.mean(output))), rel=1e-4)
    lens = json.loads(run(SPLADE, GAP, "--view", "lens", "--json", "--top", "2").stdout)
    assert np.array(lens["top"]).shape == (3, 9, 2)
    assert lens["top"][2][6][0] == "city"
    terms = json.loads(run(SPLADE, "Paris", "--pair", "France", "--view", "terms", "--json", "--top", "9999").stdout)
    assert sum(each["share"] for each in terms["shares"]) == pytest.approx(terms["score"], rel=1e-4)
    for view in ("words", "surprise", "lens", "terms"):
        assert run(SPLADE, "Paris is a city.", "--view", view).stdout.startswith(f"{SPLADE}: BertForMaskedLM")
    masked = json.loads(run(SPLADE, "Paris is a city.", "--mask", "1", "--json").stdout)["positions"][1]
    assert (masked["token"], masked["masked"]) == ("paris", True)
    assert masked["rank"] >= 1


@pytest.mark.parametrize(
    ("task", "keys"),
    [
        ("sequence-classification", {"labels", "logits", "probabilities"}),
        ("token-classification", {"tokens", "labels", "logits", "entities"}),
        ("question-answering", {"answers", "start_logits", "end_logits"}),
        ("next-sentence", {"labels", "logits", "probabilities"}),
    ],
)
def test_every_task_keeps_its_contract(run: Command, tmp_path: Path, task: str, keys: set[str]) -> None:
    model = str(save_tiny_head("bert", task, tmp_path / "tiny"))
    arguments = (model, "I love my pet?", "--pair", "the python, my pet.")
    answer = json.loads(run(*arguments, "--json").stdout)
    assert answer["task"] == task
    assert keys <= answer.keys()
    assert run(*arguments).stdout.count("\n") > 2


def test_a_file_of_texts(run: Command, tmp_path: Path) -> None:
    model = str(save_tiny_head("bert", "sequence-classification", tmp_path / "tiny"))
    texts = ("I love my pet", "the river", "my python, the bank.")
    (tmp_path / "texts.csv").write_text("id,text\n" + "".join(f'{row},"{text}"\n' for row, text in enumerate(texts)))
    answer = json.loads(run(model, "--file", str(tmp_path / "texts.csv"), "--json").stdout)
    assert [each["text"] for each in answer["predictions"]] == list(texts)
    for text, each in zip(texts, answer["predictions"], strict=True):
        np.testing.assert_allclose(each["logits"], json.loads(run(model, text, "--json").stdout)["logits"], atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("all-MiniLM-L6-v2", "x"), "holds a base model (BertModel) and no task head"),
        ((SPLADE, "x", "--task", "question-answering"), "is not whole in 'splade-tiny'"),
        ((SPLADE, "x", "--task", "poetry"), "No task 'poetry' found"),
        ((SPLADE, "[MASK] " * 33), "33 masks; at most 32"),
        ((SPLADE, "x", "--mask", "9"), "There is no token 9"),
        ((SPLADE, "x", "--mask", "one"), "is no list of positions"),
        ((SPLADE, "x", "--view", "poem"), "There is no --view 'poem'"),
        ((SPLADE, "x", "--join", "glue"), "There is no --join 'glue'"),
        ((SPLADE, "x", "--top", "0"), "0 words were requested"),
        ((SPLADE,), "Give either one TEXT or a --file"),
    ],
)
def test_what_cannot_be_asked_is_one_line(run: Command, arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_answers_of_a_file_beside_their_gold_labels(run: Command, tmp_path: Path) -> None:
    folder = save_tiny_head("bert", "sequence-classification", tmp_path / "model", num_labels=2)
    texts = ["my pet", "the river bank", "love", "python"]
    lines = "\n".join(texts)
    (tmp_path / "plain.txt").write_text(lines)
    answers = json.loads(run(str(folder), "--file", str(tmp_path / "plain.txt"), "--json").stdout)["predictions"]
    said = [each["labels"][int(np.argmax(each["logits"]))] for each in answers]
    gold = [said[0].lower(), said[1], "", "other"]
    rows = "\n".join(f"{text},{label}" for text, label in zip(texts, gold, strict=True))
    (tmp_path / "gold.csv").write_text(f"text,label\n{rows}\n")
    done = run(str(folder), "--file", str(tmp_path / "gold.csv"), "--gold", "label", "--json")
    output = json.loads(done.stdout)
    assert output["accuracy"] == pytest.approx(2 / 3)
    assert output["mistakes"] == [3]
    assert [each["answer"] for each in output["predictions"]] == said
    likeliest = [float(np.float32(max(each["probabilities"]))) for each in answers]
    assert [float(np.float32(each["score"])) for each in output["predictions"]] == likeliest
    assert np.array(output["confusion"]).sum() == 3
    assert "1 text without a gold label" in done.stderr
    table = run(str(folder), "--file", str(tmp_path / "gold.csv"), "--gold", "label").stdout
    assert table.startswith("accuracy 0.6667")
    assert "python" in table
    wrong = run(str(folder), "--file", str(tmp_path / "gold.csv"), "--gold", "nothing")
    assert wrong.returncode == 2
    assert "no column 'nothing' beside its texts; those it has: 'label'" in wrong.stderr
    assert run(str(folder), "one text", "--gold", "label").returncode == 2


def test_a_head_that_numbers_its_classes_answers_by_the_names_that_it_is_given(
    command: Command, tmp_path: Path
) -> None:
    """The same numbers as for labels that are written as the head numbers its classes."""
    folder = save_tiny_head("bert", "sequence-classification", tmp_path / "model", num_labels=2)
    texts = ["my pet", "the river bank", "love", "python", "my river", "a bank"] * 2
    names, labels = ["negative", "positive"], [0, 1, 1, 0, 0, 1] * 2
    for file, spelled in (("named", names), ("numbered", ["LABEL_0", "LABEL_1"])):
        rows = [
            f"{text} {place},{spelled[label]}" for place, (text, label) in enumerate(zip(texts, labels, strict=True))
        ]
        (tmp_path / f"{file}.csv").write_text("\n".join(["text,label", *rows]))
    class_names = ("--class-names", "negative, positive")
    said = "The classes are named by you: LABEL_0 is 'negative', LABEL_1 is 'positive'."
    asked = {
        "predict": ("predict", str(folder), "--gold", "label", "--file"),
        "calibration": ("calibration", str(folder)),
        "label-errors": ("label-errors", str(folder), "--probabilities-from", "head"),
    }
    for words in asked.values():
        named, numbered = (
            json.loads((done := command(*words, str(tmp_path / file), *more, "--json")).stdout or done.stderr)
            for file, more in (("named.csv", class_names), ("numbered.csv", ()))
        )
        assert said in named["notices"]
        assert named["classes"] == names
        plain = [{key: each[key] for key in each if key not in ("notices", "source")} for each in (named, numbered)]
        spelled = json.dumps(plain[1]).replace("LABEL_0", names[0]).replace("LABEL_1", names[1])
        assert plain[0] == json.loads(spelled)
        refused = command(*words, str(tmp_path / "named.csv"), "--class-names", "one")
        assert refused.returncode == 2
        assert "has the classes 'LABEL_0', 'LABEL_1', and 1 different name came; give" in refused.stderr
        assert "in this order: --class-names" in refused.stderr
    model, named = open_model(folder), f"{tmp_path / 'named.csv'}"
    rows = [f"{text} {place}" for place, text in enumerate(texts)], [names[label] for label in labels]
    by_method = model.calibration(*rows, class_names=names).to_json()
    assert by_method == json.loads(command(*asked["calibration"], named, *class_names, "--json").stdout)
    errors = model.label_errors(*rows, probabilities_from="head", class_names=names).data
    assert (errors.classes, errors.gold.tolist()) == (tuple(names), labels)
    printed = command("label-errors", str(folder), named, *class_names)
    assert "the class names are those of the model's own head" in printed.stderr
    assert "--gold" in command("predict", str(folder), "one text", *class_names).stderr


def test_calibration_prints_what_the_method_gives(command: Command, tmp_path: Path) -> None:
    rows = [("The bed was clean.", "good"), ("The bread was rude.", "bad"), ("It was fine.", "good"), ("Awful.", "bad")]
    (tmp_path / "places.csv").write_text("\n".join(["review,stars", *(",".join(row) for row in rows)]))
    words = ("calibration", PLACES, str(tmp_path / "places.csv"), "--column", "review")
    found = json.loads(command(*words, "--gold", "stars", "--other", f"{PLACES[:-2]}40", "--json").stdout)
    method = open_model(PLACES).calibration(
        [row[0] for row in rows], [row[1] for row in rows], other=f"{PLACES[:-2]}40"
    )
    assert found == method.to_json()
    probed = json.loads(
        command(*words, "--gold", "stars", "--probabilities-from", "probe", "--seed", "2", "--json").stdout
    )
    of_probe = open_model(PLACES).calibration(
        [row[0] for row in rows], [row[1] for row in rows], probabilities_from="probe", seed=2
    )
    assert probed == of_probe.to_json()
    assert probed["model"].endswith(" + probe")
    printed = command(*words, "--bins", "5").stdout
    assert "accuracy" in printed.splitlines()[1]
    assert "Bins of equal width" in printed
    for refused, message in (("--bins", "There is no --bins='x' here; give 2 to 50."), ("--gold", "has no column 'x'")):
        done = command(*words, refused, "x")
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr


def test_answers_prints_what_the_method_gives_and_writes_all_rows(command: Command, tmp_path: Path) -> None:
    folder = save_tiny_head("bert", "question-answering", tmp_path / "qa")
    rows = [
        ("the pet?", "I love my pet.", ["pet", "my pet"]),
        ("who?", "a bank", []),
        ("a river?", "two rivers", "two"),
    ]
    lines = [{"passage": context, "question": question, "answers": gold} for question, context, gold in rows]
    file = tmp_path / "asked.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    words = ("answers", str(folder), str(file), "--null-threshold", "-0.4", "--longest", "3")
    done = command(*words, "--json", "-o", str(tmp_path / "answers.csv"))
    assert done.returncode == 0, done.stderr
    questions, contexts, gold = zip(*rows, strict=True)
    method = open_model(folder).answers(questions, contexts, gold, null_threshold=-0.4, longest=3)
    found, expected = json.loads(done.stdout), method.to_json()
    assert found == expected
    assert found["scores"]["NoAns_total"] == 1
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as table:
        written = list(csv.DictReader(table))
    assert [row["answer"] for row in written] == list(method.answers)
    assert [row["gold answers"] for row in written] == ["pet | my pet", "", "two"]
    printed = command(*words).stdout
    assert "no answer above" in printed
    assert "null difference" in printed
    for refused, message in (
        (("--null-threshold", "x"), "There is no --null-threshold='x' here; give a number, such as 0"),
        (("--context", "text"), "has no column 'text' beside its texts"),
        (("--longest", "101"), "There is no --longest=101"),
        (("-o", "answers.txt"), "give 'answers.txt' the ending .csv"),
    ):
        done = command(*words, *refused)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert "Traceback" not in done.stderr
