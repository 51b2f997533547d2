"""Code of the pages on a model's parts runs as it is and gives the page's numbers.

Covers `bertviz_core/questions/views/architecture.py`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.parameters import Options
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import metrics
from tests.pages.snippets import MODELS, Check, Printed, by_name, chart, check_view, close, folded
from ui.cache.shared_model import SharedModel

pytestmark = pytest.mark.usefixtures("saved_models", "patience")


def number(at: AppTest, label: str) -> int:
    return int(metrics(at)[label].replace(",", ""))


def stack(at: AppTest, values: Printed) -> None:
    assert values[1] == number(at, "Parameters")
    ledger = parameters(SharedModel(at.sidebar.selectbox(key="model").value), Options()).result
    own: dict[str, int] = {}
    for row in ledger.parameters:
        path = row.name.rpartition(".")[0]
        own[path] = own.get(path, 0) + row.numel
    printed = {path: count for path, (count,) in by_name(values[2:], 2).items()}
    assert printed == own


def tree(at: AppTest, values: Printed) -> None:
    printed = by_name(values[1:], 3)
    rows = folded(at, "architecture_tree")
    called = rows[(rows["calls"] > 0) & (rows["module"].isin(printed.keys()))]
    assert len(called) > len(rows) / 2
    for name, out in zip(called["module"], called["output shape"], strict=True):
        if isinstance(printed[name][1], tuple):
            assert str(printed[name][1]) == out


def layer(at: AppTest, values: Printed) -> None:
    assert values[-1] == folded(at, "architecture_layer")["parameters"].sum()


def cost(at: AppTest, values: Printed) -> None:
    printed = {each.label: int(each.help.partition(" ")[0].replace(",", "")) for each in at.metric[1:]}
    assert sum(list(printed.values())[1:]) == printed["Multiply-adds"]
    counted, *formula = values
    assert set(formula[:1]) <= {counted}
    assert values[-1] == printed["Multiply-adds"]
    assert len(values) == 1 or counted - values[-1] == hidden_pairs(at)


def hidden_pairs(at: AppTest) -> int:
    """Multiply-adds of the pairs outside the windows of ModernBERT, 2 tokens to each side in its layer 1."""
    if at.sidebar.selectbox(key="model").value != "modernbert":
        return 0
    seq = int(at.metric[0].value.partition(" ")[0])
    return 2 * 12 * sum(abs(row - column) > 2 for row in range(seq) for column in range(seq))


def memory(at: AppTest, values: Printed) -> None:
    assert np.ravel(values[-1])[0] == folded(at, "architecture_memory").iloc[0, 1]


def design(at: AppTest, values: Printed) -> None:
    assert values[-1] == folded(at, "architecture_encoder")["parameters"].sum()


def totals(at: AppTest, values: Printed) -> None:
    assert values == [number(at, "Tensors"), number(at, "Total")]


def layers(at: AppTest, values: Printed) -> None:
    assert values[1::2] == at.dataframe[0].value["parameters"].tolist()


def components(at: AppTest, values: Printed) -> None:
    rows = at.dataframe[0].value
    assert values == [each for row in zip(rows["component"], rows["parameters"], strict=True) for each in row]


def compared(at: AppTest, values: Printed) -> None:
    assert values[1::2] == at.dataframe[0].value["total"].tolist()


def report(at: AppTest, values: Printed) -> None:
    missing, unexpected, mismatched = values
    assert [len(missing), len(unexpected), len(mismatched)] == [
        number(at, label) for label in ("New", "Unused", "Wrong shape")
    ]
    rows = at.dataframe[0].value
    assert set(missing) == set(rows.loc[rows["status"] == "new", "name"])


def head(at: AppTest, values: Printed) -> None:
    (words,) = [each.value for each in at.markdown if "→" in each.value]
    assert [f"{each:,}" in words for each in values] == [True, True]


def weights(at: AppTest, values: Printed) -> None:
    printed = by_name(values, 6)
    rows = folded(at, "checkpoint_weights").set_index("tensor")
    assert printed.keys() <= set(rows.index)
    for name, row in printed.items():
        close(row, rows.loc[name, ["mean", "standard deviation", "smallest", "largest", "zeros"]])


def histogram(at: AppTest, values: Printed) -> None:
    assert values[0].tolist() == folded(at, "checkpoint_values")["count"].tolist()


def change(at: AppTest, values: Printed) -> None:
    rows = folded(at, "checkpoint_changes").set_index("tensor")
    close(values[0], rows.loc[at.selectbox(key="changed").value, "relative change"], 1e-9)


def behaviour(at: AppTest, values: Printed) -> None:
    cosines = np.array(chart(at, "checkpoint_cosines")[0]["z"])
    divergences = np.array(chart(at, "checkpoint_divergences")[0]["z"])
    close(np.stack(values[: len(cosines)]), cosines)
    close(np.sort(np.stack(values[len(cosines) :]).ravel()), np.sort(divergences.ravel()))


def layers_over_texts(at: AppTest, values: Printed) -> None:
    close(values[0], chart(at, "checkpoint_layers")[0]["z"])
    for cosines, line in zip(values[2:], chart(at, "checkpoint_text_cosines"), strict=True):
        close(cosines, line["y"])


def number_formats(at: AppTest, values: Printed) -> None:
    table = next(each.value for each in at.dataframe if "bytes saved" in each.value and "component" not in each.value)
    assert list(table["format"]) == values[::5] == ["int8", "nf4"]
    for place, name in enumerate(("relative error", "largest error", "bytes before", "bytes after"), 1):
        close(np.array(values[place::5], float), table[name])


def training_log(at: AppTest, values: Printed) -> None:
    curves = {line["name"]: line for line in chart(at, "checkpoint_training_log")}
    losses = [logged["loss"] for logged in values[1::2] if "loss" in logged]
    close(losses, curves["loss"]["y"])


def training_movement(at: AppTest, values: Printed) -> None:
    close(values[0].T, chart(at, "checkpoint_training_movement")[0]["z"])
    assert str(len(values[1])) == metrics(at)["Never moved"]
    assert values[2] == ()


def training_text(at: AppTest, values: Printed) -> None:
    lines = chart(at, "checkpoint_training_text")
    close(values[2].T, [line["y"] for line in lines])
    assert values[3:] == [None, None]


def training_scores(at: AppTest, values: Printed) -> None:
    accuracy, macro_f1, changed = chart(at, "checkpoint_training_scores")
    close(100 * values[0], accuracy["y"])
    close(100 * values[1], macro_f1["y"])
    close(values[2][1:], changed["y"][1:])
    assert changed["y"][0] is None  # none comes before the first


def training_cka(at: AppTest, values: Printed) -> None:
    close(values[0].T, chart(at, "checkpoint_training_cka")[0]["z"])


def training_entropy(at: AppTest, values: Printed) -> None:
    close(values[0].reshape(len(values[0]), -1).T, chart(at, "checkpoint_training_entropy")[0]["z"])


TRAINING: Mapping[str, Check] = {
    "checkpoint_training_log": training_log,
    "checkpoint_training_movement": training_movement,
}
COPY = "itself, rounded to float8_e4m3fn"
VIEWS: Mapping[str, Mapping[tuple[str, tuple[tuple[str, Any], ...]], Mapping[str, Check]]] = {
    "overview": {("", ()): {"overview_stack": stack}},
    "architecture": {
        ("Module tree", (("one_by_one", "true"),)): {"architecture_tree": tree},
        ("One layer", ()): {"architecture_layer": layer},
        ("Cost", ()): {"architecture_cost": cost, "architecture_memory": memory},
        ("Encoder or decoder", ()): {"architecture_encoder": design},
    },
    "parameters": {
        ("Tree", ()): {"parameters_tree": totals},
        ("Layers", ()): {"parameters_layers": layers},
        ("Layers", (("split", "components"),)): {"parameters_components": components},
        ("Compare models", (("models", MODELS),)): {"parameters_compare": compared},
    },
    "checkpoint": {
        ("Load report", ()): {"checkpoint_report": report},
        ("Weights", ()): {"checkpoint_weights": weights, "checkpoint_values": histogram},
        ("Fewer bits", (("formats", ("int8", "nf4")),)): {"checkpoint_formats": number_formats},
        ("Compare with base", (("other", COPY),)): {"checkpoint_changes": change},
        ("Compare with base", (("other", COPY), ("compared", "behaviour with the text"))): {
            "checkpoint_behaviour": behaviour
        },
        ("Compare with base", (("other", COPY), ("compared", "layers over many texts"))): {
            "checkpoint_text_cosines": layers_over_texts
        },
        ("Training run", (("scale", "even"),)): TRAINING,
        ("Training run", (("scale", "even"), ("followed", "the text"))): {"checkpoint_training_text": training_text},
        (
            "Training run",
            (
                ("scale", "even"),
                ("followed", "labelled texts"),
                ("answers_from", "my own list"),
                ("answered_texts", "LABEL_0\tmy pet\nLABEL_1\tlove bank"),
            ),
        ): {"checkpoint_training_scores": training_scores},
        (
            "Training run",
            (
                ("scale", "even"),
                ("followed", "a list of texts"),
                ("compared_list", "my own list"),
                ("compared_texts", "my pet\na river\nthe bank\nlove bank"),
            ),
        ): {"checkpoint_training_cka": training_cka, "checkpoint_training_entropy": training_entropy},
    },
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("page", "view"), [(page, view) for page, found in VIEWS.items() for view in found])
@pytest.mark.slow
def test_the_code_gives_the_numbers_of_the_page(page: str, view: Any, model: str) -> None:
    name, options = view
    check_view(page, model, VIEWS[page][view], **({"view": name} if name else {}), **dict(options))


@pytest.mark.parametrize("model", MODELS[1:])
@pytest.mark.slow
def test_the_code_of_memory_in_training(model: str) -> None:
    checks = {"architecture_cost": cost, "architecture_memory": memory}
    check_view("architecture", model, checks, view="Cost", holding="Training")


@pytest.mark.parametrize(
    ("model_type", "task"),
    [
        ("albert", "masked-lm"),
        *((name, "base") for name in ("deberta-v2", "modernbert", "longformer", "canine", "fnet", "xlnet")),
        ("bart", "sequence-classification"),
    ],
)
@pytest.mark.slow
def test_the_code_of_the_cost_of_a_family(
    model_type: str, task: str, models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(models_dir))
    save_tiny(model_type, models_dir / model_type)
    checks = {"architecture_cost": cost, "architecture_memory": memory}
    address = {"view": "Cost", "holding": "Training", "task": task, "text": "I love my pet python."}
    check_view("architecture", model_type, checks, **address)


@pytest.mark.parametrize("model", MODELS)
def test_the_code_of_a_new_head(model: str) -> None:
    task = "sequence-classification"
    check_view("checkpoint", model, {"checkpoint_report": report, "checkpoint_head": head}, load_task=task, labels="3")
