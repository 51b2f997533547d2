"""The parameters page: every number, every view, every refusal.

Covers `ui/engine.py`.
"""

import html
import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import bundled_counts, drawn, metrics, opened, table, visible_text, with_files, write_model

VIEWS = ("Tree", "Layers", "Compare models")
COMPONENTS = {"view": "Layers", "split": "components"}
LAYER_0 = {
    "attention.self.query": 768 * 768 + 768,
    "attention.self.key": 768 * 768 + 768,
    "attention.self.value": 768 * 768 + 768,
    "attention.output.dense": 768 * 768 + 768,
    "attention.output.LayerNorm": 2 * 768,
    "intermediate.dense": 768 * 3_072 + 3_072,
    "output.dense": 3_072 * 768 + 768,
    "output.LayerNorm": 2 * 768,
}


def bert(**query: str) -> AppTest:
    """Open the page with bert-base-uncased, which is counted from its config."""
    return opened("parameters", model="bert-base-uncased", **query)


def summary(at: AppTest) -> str:
    """The line above the table."""
    return next(line.value for line in at.markdown if re.search(r"\*\*[\d,]+ tensors, ", line.value))


def test_the_bundled_model_has_22_713_216_parameters_in_103_tensors() -> None:
    at = opened("parameters")
    assert not at.exception
    assert not at.error
    assert metrics(at) == {
        "Total": "22,713,216",
        "Trainable": "22,713,216",
        "Tensors": "103",
        "As stored": "86.6 MiB",
        "In float16": "43.3 MiB",
        "In int8": "21.7 MiB",
    }
    assert {row["name"]: row["numel"] for row in table(at)} == bundled_counts()


def test_bert_base_has_109_482_240_parameters_in_199_tensors() -> None:
    at = bert()
    assert not at.exception
    found = metrics(at)
    assert (found["Total"], found["Trainable"], found["Tensors"]) == ("109,482,240", "109,482,240", "199")
    rows = table(at)
    assert len(rows) == 199
    assert sum(row["numel"] for row in rows) == 109_482_240


@pytest.mark.parametrize("form", ["sunburst", "treemap", "icicle"])
@pytest.mark.parametrize("depth", ["1", "3", "6"])
@pytest.mark.sample(1)
def test_the_drawn_tree_has_the_counts_of_the_file(form: str, depth: str) -> None:
    counts = bundled_counts()
    trace, *_ = drawn(opened("parameters", form=form, depth=depth))["data"]
    assert trace["type"] == form
    values = dict(zip(trace["ids"], trace["values"], strict=True))
    parents = dict(zip(trace["ids"], trace["parents"], strict=True))
    assert len(values) == len(trace["ids"])
    (root,) = (own for own, parent in parents.items() if not parent)
    assert values.pop(root) == sum(counts.values()) == 22_713_216
    below = {own: sum(n for name, n in counts.items() if f"{name}.".startswith(f"{own}.")) for own in values}
    assert values == below
    sums: dict[str, int] = {}
    for own, value in values.items():
        sums[parents[own]] = sums.get(parents[own], 0) + value
    assert sums == {parent: 22_713_216 if parent == root else values[parent] for parent in sums}
    levels = {root: 0}
    for own, parent in parents.items():
        levels.setdefault(own, levels.get(parent, 0) + 1)
    assert max(levels.values()) == int(depth)


def test_the_parts_of_a_base_model_stand_beside_its_head() -> None:
    at = opened("parameters", model="ModernBERT-base", task="masked-lm", depth="1")
    trace, *_ = drawn(at)["data"]
    assert len(set(trace["ids"])) == len(trace["ids"])
    (root,) = (own for own, parent in zip(trace["ids"], trace["parents"], strict=True) if not parent)
    assert set(trace["parents"]) == {"", root}
    assert {"model.embeddings", "model.layers", "head"} <= set(trace["ids"])
    assert sum(trace["values"]) == 2 * 149_655_232


def test_the_drawn_tree_of_bert_base_has_the_published_counts() -> None:
    trace, *_ = drawn(bert())["data"]
    values = dict(zip(trace["ids"], trace["values"], strict=True))
    assert values["embeddings"] == 23_837_184
    assert values["encoder.layer"] == 85_054_464
    assert values["pooler.dense"] == 590_592
    assert [values[f"encoder.layer.{index}"] for index in range(12)] == [7_087_872] * 12


@pytest.mark.parametrize(
    "model", ["all-MiniLM-L6-v2", "bert-base-uncased", "albert-base-v2", "distilbert-base-uncased"]
)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.sample(1)
def test_every_view_draws_one_chart_and_its_table(view: str, model: str) -> None:
    at = opened("parameters", model=model, view=view)
    assert not at.exception
    assert not at.error
    assert not at.warning
    assert drawn(at)["data"]
    assert len(table(at)) > 0
    assert not at.download_button, "files are made when Download is opened"
    with_files(at, f"parameters_{'tree' if view == 'Tree' else view.partition(' ')[0].lower()}")
    assert {button.label for button in at.download_button} == {"HTML", "CSV", "LaTeX", "Markdown"}


def test_the_views_can_be_gone_through_by_hand() -> None:
    at = opened("parameters")
    for view in (*VIEWS[1:], VIEWS[0]):
        at.query_params["view"] = view
        at.run()
        assert not at.exception
        assert at.session_state["view"] == view
        assert drawn(at)["data"]


def test_the_bars_are_of_layers_or_of_components() -> None:
    at = bert(view="Layers")
    split = at.button_group(key="split")
    assert (split.label, split.value) == ("Split by", "layers")
    split.set_value("components").run()
    assert [row["component"] for row in table(at)] == ["embeddings", "encoder", "pooler"]
    assert metrics(at)["Total"] == "109,482,240"


def test_the_components_of_bert_base_add_up() -> None:
    rows = table(bert(**COMPONENTS))
    counts = {row["component"]: row["parameters"] for row in rows}
    assert counts == {"embeddings": 23_837_184, "encoder": 85_054_464, "pooler": 590_592}
    assert sum(counts.values()) == 109_482_240
    assert sum(row["tensors"] for row in rows) == 199
    for row in rows:
        formula, _, total = row["arithmetic"].rpartition(" = ")
        assert eval(formula.replace(",", "").replace("×", "*")) == int(total.replace(",", "")) == row["parameters"]  # noqa: S307  # own page


def test_the_drawn_components_are_those_of_the_table() -> None:
    at = bert(**COMPONENTS)
    bars = {trace["name"].rpartition(" ")[0]: trace["x"] for trace in drawn(at)["data"]}
    assert bars == {row["component"]: [row["parameters"]] for row in table(at)}
    shares = [trace["name"].rpartition(" ")[2] for trace in drawn(at)["data"]]
    assert shares == [f"{row['share']:.1%}" for row in table(at)]


def test_the_drawn_layers_are_those_of_the_table() -> None:
    at = bert(view="Layers")
    rows = table(at)
    assert [row["parameters"] for row in rows] == [7_087_872] * 12
    bars = {trace["name"].rpartition(" ")[0]: trace["x"] for trace in drawn(at)["data"]}
    for name in ("query", "key", "value", "attention output", "feed-forward", "layer norm"):
        assert bars.pop(name) == [row[name] for row in rows], name
    assert not bars
    for row in rows:
        assert row["attention"] + row["feed-forward"] + row["layer norm"] == row["parameters"]
        assert row["query"] + row["key"] + row["value"] + row["attention output"] == row["attention"]


def test_albert_says_that_one_block_runs_12_times() -> None:
    at = opened("parameters", model="albert-base-v2", view="Layers")
    assert any("1 block, run 12 times" in line.value for line in at.markdown)
    (row,) = table(at)
    assert row["runs per pass"] == 12
    (tick,) = drawn(at)["layout"]["yaxis"]["ticktext"]
    assert "12 times" in tick


def test_a_model_that_shares_nothing_says_nothing_of_shared_layers() -> None:
    at = bert(view="Layers")
    assert any("12 layers of 7,087,872 parameters each" in line.value for line in at.markdown)
    assert not any("share" in line.value for line in at.markdown)
    assert "runs per pass" not in table(at)[0]


def test_the_layer_that_differs_is_named() -> None:
    at = opened("parameters", model="ModernBERT-base", view="Layers")
    assert any("21 of 5,015,040 parameters; of another size: layer 0." in line.value for line in at.markdown)
    notes = [note["text"] for note in drawn(at)["layout"]["annotations"]]
    assert [note for note in notes if "fewer" in note] == [" 5,014,272 (768 fewer)"]


def test_layers_that_differ_are_named_with_their_stack(models_dir: Path) -> None:
    save_tiny("t5", models_dir / "mine")
    at = opened("parameters", model="mine", view="Layers")
    (message,) = (line.value for line in at.markdown if "of another size" in line.value)
    assert {"decoder layer 0", "encoder layer 0"} <= set(re.findall(r"[a-z]+ layer \d", message))


def test_compared_models_stand_with_their_totals() -> None:
    at = bert(view="Compare models")
    rows = {row["model"]: row for row in table(at)}
    assert len(rows) == 8
    assert rows["bert-base-uncased"]["total"] == 109_482_240
    relative = {name: row["relative to bert-base-uncased"] for name, row in rows.items()}
    assert relative["bert-base-uncased"] == 1
    assert rows["bert-large-uncased"]["total"] == 335_141_888
    assert rows["distilbert-base-uncased"]["total"] == 66_362_880
    assert relative["distilbert-base-uncased"] == pytest.approx(66_362_880 / 109_482_240)
    assert (rows["albert-base-v2"]["layers stored"], rows["albert-base-v2"]["layers run"]) == (1, 12)
    assert rows["bert-large-uncased"]["MiB in float32"] == pytest.approx(335_141_888 * 4 / 2**20)
    spec = drawn(at)
    columns = zip(*(trace["x"] for trace in spec["data"]), strict=True)
    assert [sum(column) for column in columns] == [row["total"] for row in rows.values()]
    notes = [note["text"].strip() for note in spec["layout"]["annotations"]]
    assert notes == [f"{row['total']:,}" for row in rows.values()]


def test_compared_models_can_be_chosen() -> None:
    at = bert(view="Compare models")
    at.multiselect(key="models").set_value(["bert-base-cased", "bert-base-uncased"]).run()
    assert {row["model"]: row["total"] for row in table(at)} == {
        "bert-base-cased": 108_310_272,
        "bert-base-uncased": 109_482_240,
    }
    at.multiselect(key="models").set_value([]).run()
    assert not at.exception
    assert len(at.info) == 1


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("group", "tensors", "total"),
    [
        ("Embeddings", 5, 23_837_184),
        ("Layer 0", 16, 7_087_872),
        ("Pooler and head", 2, 590_592),
        ("All", 199, 109_482_240),
    ],
)
def test_the_three_groups_of_teaching_texts(group: str, tensors: int, total: int) -> None:
    at = bert()
    at.button_group(key="rows").set_value(group).run()
    assert len(table(at)) == tensors
    assert sum(row["numel"] for row in table(at)) == total
    assert f"**{tensors} tensors, {total:,} parameters**" in summary(at)


def test_a_group_without_rows_is_not_offered(models_dir: Path) -> None:
    save_tiny("t5", models_dir / "mine")  # it has neither pooler nor task head
    assert opened("parameters", model="mine").button_group(key="rows").options == [
        "All groups",
        "Embeddings",
        "Layer 0",
    ]


def test_the_group_layer_0_has_the_rows_of_layer_0() -> None:
    rows = table(bert(rows="Layer 0"))
    sums: dict[str, int] = {}
    for row in rows:
        module = row["name"].removeprefix("encoder.layer.0.").rpartition(".")[0]
        sums[module] = sums.get(module, 0) + row["numel"]
    assert sums == LAYER_0


def test_search_narrows_the_rows_in_any_case() -> None:
    at = bert()
    at.text_input(key="search").set_value("QUERY").run()
    assert [row["name"] for row in table(at)] == [
        f"encoder.layer.{index}.attention.self.query.{kind}" for index in range(12) for kind in ("weight", "bias")
    ]
    assert f"**24 tensors, {12 * (768 * 768 + 768):,} parameters**" in summary(at)
    at.text_input(key="search").set_value("no such name").run()
    assert not at.exception
    assert not at.dataframe[0].value.size


def test_module_group_and_search_narrow_together() -> None:
    at = bert(module="encoder.layer.0", rows="Layer 0", search="bias")
    assert {row["name"] for row in table(at)} == {f"encoder.layer.0.{module}.bias" for module in LAYER_0}


@pytest.mark.parametrize(
    ("module", "tensors", "total"),
    [("embeddings", 5, 23_837_184), ("pooler.dense", 2, 590_592), ("encoder.layer.1", 16, 7_087_872)],
)
def test_a_module_shows_its_own_rows(module: str, tensors: int, total: int) -> None:
    at = bert(module=module)
    assert at.selectbox(key="module").value == module
    assert len(table(at)) == tensors
    assert visible_text(summary(at)).startswith(f"{module}: **{tensors} tensors, {total:,} parameters**")


def test_layer_1_is_not_layer_10() -> None:
    names = [row["name"] for row in table(bert(module="encoder.layer.1"))]
    assert all(name.startswith("encoder.layer.1.") for name in names)


@pytest.mark.parametrize(
    "query",
    [{"module": "no.such"}, {"depth": "99"}, {"depth": "x"}, {"view": "<b>"}, {"form": "pie"}, {"rows": "?"}],
    ids=str,
)
def test_an_address_with_a_wrong_option_opens_the_page_without_it(query: dict[str, str]) -> None:
    at = opened("parameters", **query)
    assert not at.exception
    assert not at.error
    assert summary(at).startswith("**103 tensors, 22,713,216 parameters**")


def test_the_balance_adds_up_to_the_total_and_to_the_file() -> None:
    line = next(line.value for line in opened("parameters").caption if "parameters." in line.value)
    assert "embeddings 11,918,592 + encoder 10,646,784 + pooler 147,840 = **22,713,216**" in line
    assert "104 tensors: 103 with parameters + 1 buffer." in line
    line = next(line.value for line in bert().caption if "parameters." in line.value)
    assert "embeddings 23,837,184 + encoder 85,054,464 + pooler 590,592 = **109,482,240**" in line


@pytest.mark.parametrize(
    ("task", "total", "tensors", "head"),
    [
        # Without a pooler; a dense layer, its norm and a bias per word; the word weights are those of the embeddings.
        ("masked-lm", 109_514_298, 202, 768 * 768 + 768 + 2 * 768 + 30_522),
        ("sequence-classification", 109_483_778, 201, 2 * 768 + 2),
        ("question-answering", 108_893_186, 199, 2 * 768 + 2),
    ],
)
def test_a_task_head_is_counted_with_the_model(task: str, total: int, tensors: int, head: int) -> None:
    at = bert(task=task, **COMPONENTS)
    assert not at.exception
    assert (metrics(at)["Total"], metrics(at)["Tensors"]) == (f"{total:,}", str(tensors))
    counts = {row["component"]: row["parameters"] for row in table(at)}
    assert counts["task head"] == head
    assert sum(counts.values()) == total


def test_a_tied_parameter_is_listed_with_its_owner_and_counted_once() -> None:
    at = bert(task="masked-lm")
    tied = {row["name"]: row["tied_to"] for row in table(at) if row["tied_to"]}
    assert tied["cls.predictions.decoder.weight"] == "bert.embeddings.word_embeddings.weight"
    assert sum(row["numel"] for row in table(at) if not row["tied_to"]) == 109_514_298
    assert f"**{202} tensors, 109,514,298 parameters**" in summary(at)


def test_an_unknown_task_is_the_model_as_it_is() -> None:
    assert metrics(bert(task="<b>"))["Total"] == "109,482,240"


def test_both_classes_are_named_where_they_differ(models_dir: Path) -> None:
    folder = write_model(models_dir / "mine", BROKEN)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    at = opened("parameters", model="mine")
    assert any("saved as BertForMaskedLM, counted as BertModel" in visible_text(line.value) for line in at.markdown)
    assert not any("saved as" in line.value for line in opened("parameters").markdown)


BROKEN = {"embeddings.word_embeddings.weight": (7, 6)}


@pytest.mark.parametrize("page", ["overview", "parameters"])
@pytest.mark.parametrize(
    "name",
    ["no-such-model", "org/no-such-model", "../x", "/etc", "~", "broken", "empty", "x" * 400, "a\tb", "![x](http://e)"],
)
@pytest.mark.sample(5)
def test_a_bad_name_is_one_sentence_and_the_sidebar_stays(page: str, name: str, models_dir: Path) -> None:
    write_model(models_dir / "broken", BROKEN, cut=5)
    (models_dir / "empty").mkdir()
    at = opened(page, model=name)
    assert not at.exception
    (error,) = at.error
    sentence = visible_text(error.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    assert [box.key for box in at.sidebar.selectbox] == ["model", "other"]
    assert "all-MiniLM-L6-v2 · ready · 22.7 M" in at.sidebar.selectbox(key="model").options
    assert not at.metric
    assert not sent_charts(at)


def test_no_name_and_no_link_leads_out_of_the_models_folder(models_dir: Path) -> None:
    outside = write_model(models_dir.parent / "outside", BROKEN)
    (models_dir / "link").symlink_to(outside)
    for name in ("../outside", "models/../../outside", str(outside), "link"):
        at = opened("parameters", model=name)
        assert not at.exception
        assert len(at.error) == 1, name
        assert not at.metric


def test_a_broken_file_is_named(models_dir: Path) -> None:
    write_model(models_dir / "broken", BROKEN, cut=5)
    (error,) = opened("parameters", model="broken").error
    assert "model.safetensors is cut off" in visible_text(error.value)


def test_a_folder_of_pickles_is_refused(models_dir: Path) -> None:
    folder = write_model(models_dir / "pickled", BROKEN)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    at = opened("parameters", model="pickled")
    (error,) = at.error
    assert "pytorch_model.bin" in visible_text(error.value)
    assert not at.exception


def test_a_local_model_is_offered_and_counted(models_dir: Path) -> None:
    write_model(models_dir / "mine", {**BROKEN, "pooler.dense.weight": (6, 6), "pooler.dense.bias": (6,)})
    at = opened("parameters", model="mine")
    assert "mine · ready" in at.sidebar.selectbox(key="model").options
    assert (metrics(at)["Total"], metrics(at)["Tensors"]) == ("84", "3")


def test_a_file_that_changes_is_counted_again(models_dir: Path) -> None:
    folder = write_model(models_dir / "mine", BROKEN)
    assert metrics(opened("parameters", model="mine"))["Total"] == "42"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    write_model(folder, {**BROKEN, "pooler.dense.bias": (6,)})
    assert metrics(opened("parameters", model="mine"))["Total"] == "48"


def test_tensor_names_are_text_in_every_place(models_dir: Path) -> None:
    name = "encoder.layer.0.<b>hi</b>&.![x](http://evil)"
    write_model(models_dir / "evil", {name: (3, 6), **BROKEN})
    at = opened("parameters", model="evil", module=name, depth="9")
    assert not at.exception
    trace, *_ = drawn(at)["data"]
    assert all("<" not in label for label in trace["labels"])
    assert html.escape(name) in [row[0] for row in trace["customdata"]]
    assert name in [row["name"] for row in table(at)]
    for line in at.markdown:
        assert "![x]" not in line.value


def test_an_instance_with_a_list_of_models_offers_only_those(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = ["all-MiniLM-L6-v2", "bert-base-uncased"]
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_MODELS", ",".join(allowed))
    at = opened("parameters", view="Compare models")
    assert [line.split(" · ")[0] for line in at.sidebar.selectbox(key="model").options] == allowed
    assert set(at.multiselect(key="models").options) <= set(allowed)
    assert not at.warning
    assert not at.exception


def gone_page() -> None:
    from bertviz_core.questions.parameters import Options
    from bertviz_core.questions.view import Section
    from bertviz_core.questions.views.parameters import ROWS, listed_rows
    from ui.cache.shared_model import SharedModel
    from ui.engine import draw_parts

    gone = SharedModel("gone")
    draw_parts([Section((ROWS,), listed_rows)], gone, lambda question, options: question(gone, options), Options())


def test_a_model_that_is_gone_at_the_next_click_is_told_in_one_sentence() -> None:
    # A section is a fragment: a click reruns it alone, without the page's own check of the model.
    at = AppTest.from_function(gone_page).run()
    assert not at.exception
    assert len(at.error) == 1
