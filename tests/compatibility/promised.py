"""What docs/compatibility.md promises, read from this version's code; the files of a version are made by its own code.

In a checkout of that version, with this file copied beside its tests:
`PYTHONPATH=. python promised.py FOLDER`.
"""

import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import is_dataclass
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, get_args

import numpy as np

FIRST = Path(__file__).parent / "files_1_0"
WORDS = "splade-tiny"
DEFAULT = "all-MiniLM-L6-v2"
TEXT, PAIR = "i love my pet", "the bank, the river"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "parameters": ("parameters", "models/classes"),
    "parameters-task": ("parameters", "models/answers", "--task", "masked-lm"),
    "load-report": ("load-report", DEFAULT, "--task", "sequence-classification", "--labels", "2"),
    "adapter": ("adapter", "models/adapter"),
    "number-formats": ("number-formats", "models/classes", "--formats", "int8,nf4", "--file", "texts.csv"),
    "compare": ("compare", "models/run/checkpoint-2", "models/run/checkpoint-4"),
    "compare-text": ("compare", "models/run/checkpoint-2", "models/run/checkpoint-4", "--text", TEXT),
    "compare-heads": (
        "compare",
        "models/run/checkpoint-2",
        "models/run/checkpoint-4",
        "--text",
        TEXT,
        "--view",
        "heads",
    ),
    "compare-file": (
        *("compare", "models/run/checkpoint-2", "models/run/checkpoint-4", "--file", "texts.csv"),
        *("--gold", "label", "--slices", "length"),
    ),
    "training": ("training", "models/run"),
    "training-text": ("training", "models/run", "--text", TEXT, "--file", "texts.csv", "--gold", "label"),
    "tokens": ("tokens", DEFAULT, "Sinan loves it.", "--pair", "He does."),
    "hidden": ("hidden", WORDS, "I love it.", "--layer", "1"),
    "hidden-pooler": ("hidden", "models/pairs", TEXT, "--layer", "1", "--pooler"),
    "attention": ("attention", DEFAULT, "I love my pet python.", "--layer", "3", "--head", "5"),
    "attention-words": ("attention", DEFAULT, "Sinan sings.", "--layer", "3", "--head", "5", "--words"),
    "heads": ("heads", "models/classes", "--layer", "1"),
    "heads-weights": ("heads", "models/classes", "--layer", "1", "--weights"),
    "similarity": ("similarity", DEFAULT, "A river.", "A bank.", "Money.", "--pooling", "cls", "--layer", "3"),
    "similarity-other": ("similarity", DEFAULT, "A river.", "A bank.", "Money.", "--other", "sre-embedding-model"),
    "similarity-gold": ("similarity", DEFAULT, "--file", "pairs.csv", "--gold", "score"),
    "similarity-dimensions": ("similarity", DEFAULT, "A river.", "A bank.", "Money.", "--dimensions", "64"),
    "predict-words": ("predict", WORDS, "Paris is in [MASK].", "--top", "3"),
    "predict-surprise": ("predict", WORDS, "Paris is in France.", "--view", "surprise"),
    "predict-lens": ("predict", WORDS, "I [MASK] it.", "--view", "lens"),
    "predict-terms": ("predict", WORDS, "Where is Paris?", "--pair", "Paris is in France.", "--view", "terms"),
    "predict-classes": ("predict", "models/classes", TEXT),
    "predict-tags": ("predict", "models/tags", TEXT, "--join", "first"),
    "predict-answers": ("predict", "models/answers", "the pet?", "--pair", "I love my pet python, the river."),
    "predict-next": ("predict", "models/pairs", TEXT, "--pair", PAIR, "--task", "next-sentence"),
    "predict-file": ("predict", "models/run/checkpoint-4", "--file", "texts.csv", "--gold", "label"),
    "rank-entailment": ("rank", "models/classes", "the bank", "the river", TEXT, "--beside", DEFAULT),
    "rank-late": ("rank", "models/late", "the bank", "the river", TEXT),
    "late-interaction": ("late-interaction", "models/late", "the bank", PAIR),
    "causes": ("causes", DEFAULT, "I love it.", "--pair", "I like it.", "--kind", "mean"),
    "causes-word": ("causes", WORDS, "Paris is in [MASK].", "--target", "word:france@4"),
    "words": ("words", DEFAULT, "I love my pet.", "--pair", "I like it."),
    "words-gradients": (
        *("words", WORDS, "Paris is in [MASK].", "--target", "word:france@4"),
        *("--method", "integrated-gradients", "--tokens"),
    ),
    "word-pairs": ("word-pairs", DEFAULT, "It's a return", "No return"),
    "corpus-info": ("corpus", "info", "corpora/reviews"),
    "corpus-search": ("corpus", "search", "corpora/reviews", "the delivery was late", "-k", "3"),
    "corpus-search-where": ("corpus", "search", "corpora/reviews", "good", "-k", "2", "--where", "stars=5"),
}
"""Name of a kept output -> command and arguments; `--json` is added."""


def printed(arguments: tuple[str, ...], folder: Path = FIRST) -> Any:
    """What a command prints with `--json`, in the folder with models, corpora and lists."""
    from bertviz_core.cli.app import main

    out = TextIOWrapper(BytesIO(), encoding="utf-8")
    before, code = sys.argv, None
    sys.argv = ["bertviz_core", *arguments, "--json"]
    try:
        with chdir(folder), redirect_stdout(out):
            main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.argv = before
    assert not code, f"{' '.join(arguments)} ended with {code}"
    out.flush()
    return json.loads(out.buffer.getvalue())  # type: ignore[attr-defined]


def commands() -> dict[str, Any]:
    """Command -> its arguments in order, and all spellings of its options with their defaults."""
    from typer.main import get_command

    from bertviz_core.cli.app import COMMANDS as MODULES
    from bertviz_core.cli.options import app

    for each in MODULES.values():
        import_module(f"bertviz_core.cli.{each.module}")
    found: dict[str, Any] = {}

    def walk(command: Any, name: str) -> None:
        for key, each in getattr(command, "commands", {}).items():
            walk(each, f"{name} {key}".strip())
        if not hasattr(command, "commands"):
            given = [each for each in command.params if each.param_type_name == "argument"]
            options = [each for each in command.params if each.param_type_name == "option"]
            found[name] = {
                "arguments": [each.name for each in given],
                "options": {word: repr(each.default) for each in options for word in each.opts},
            }

    walk(get_command(app), "")
    return found


def figures() -> dict[str, list[str]]:
    """Name of a figure -> its settings."""
    from bertviz_core.questions.figures import all_figures, settings_of

    return {name: list(settings_of(name)) for name in all_figures()}


def settings() -> dict[str, str]:
    """Variable -> its default as the table of docs/configuration.md has it."""
    from bertviz_core.settings import table

    rows = [line.split("|") for line in table().splitlines()[2:]]
    return {row[1].strip(" `"): row[2].strip() for row in rows}


def python_names() -> dict[str, Any]:
    """Public name, or name of a result -> parameters of a function; members of a class and their parameters.

    A parameter is `name` or `name=` with a default; behind `*` it is given by name. A result's `data.field` is a value.
    """
    import bertviz_core
    import bertviz_core.api.results as results

    found = {name: getattr(bertviz_core, name) for name in (*bertviz_core.__all__, *bertviz_core.LATER)}
    for module in iter_modules(results.__path__):
        found |= {
            name: each
            for name, each in vars(import_module(f"{results.__name__}.{module.name}")).items()
            if inspect.isclass(each) and issubclass(each, bertviz_core.Result)
        }
    return {
        name: _members(each) if inspect.isclass(each) else _parameters(each) for name, each in sorted(found.items())
    }


def _members(of: type) -> dict[str, Any]:
    inherited = {name for base in of.__mro__[1:] if base.__name__ in ("Result", "Exception") for name in dir(base)}
    members = {name: _parameters(getattr(of, name)) for name in {*dir(of)} - inherited if not name.startswith("_")}
    members = dict(sorted(members.items()))
    (data,) = get_args(next(iter(getattr(of, "__orig_bases__", ())), None)) or (None,)
    kinds = [each for each in (data, *get_args(data)) if is_dataclass(each)]
    public = [name for kind in kinds for name in dir(kind) if not name.startswith("_")]
    return members | {f"data.{name}": None for name in public}


def _parameters(of: Callable[..., Any] | object) -> list[str] | None:
    """Parameters of a function; None for a value."""
    names, star = [], False
    try:
        signature = inspect.signature(of)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    for name, each in signature.parameters.items():
        if each.kind is each.KEYWORD_ONLY and not star:
            names, star = [*names, "*"], True
        prefix = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        names.append(f"{prefix}{name}{'' if prefix or each.default is each.empty else '='}")
    return names


def address_names() -> list[dict[str, Any]]:
    """The names of an address: pages, kind and values."""
    from ui.address.registry import ROWS

    return [
        {"name": row.param.key, "pages": list(row.pages), "kind": row.param.kind, "values": list(row.param.options)}
        for row in ROWS
    ]


VIEWS: Mapping[str, tuple[str, ...]] = {
    "journey": ("",),
    "overview": ("",),
    "parameters": ("Tree", "Layers", "Compare models"),
    "architecture": ("Module tree", "One layer", "Cost", "Encoder or decoder"),
    "checkpoint": ("Load report", "Weights", "Fewer bits", "Two checkpoints", "Training run"),
    "tokens": ("",),
    "representations": ("Change", "Values", "Token similarity", "Paths", "Input", "One word, two texts"),
    "heads": ("Matrices", "One cell"),
    "attention": ("",),
    "predictions": (
        *("Masked words", "Classes", "Tags", "Answers", "Next sentence", "Surprise", "Lens", "Expanded terms"),
        *("Change a word", "Train a probe", "Several texts"),
    ),
    "causes": ("One head at a time", "Several heads", "Patch", "Many sentences"),
    "words": ("Words", "Remove word by word", "Pairs", "Classes"),
    "sentences": (
        *("Similarity", "Two models", "Poolings", "Token contributions", "Query", "Rank", "Late interaction", "Map"),
    ),
    "corpus": ("Search", "Map", "Near duplicates", "Clusters", "Heads", "Probes", "About"),
}
"""Page -> its views in 1.0; "" for a page of a single one."""
MODELS = {
    "Classes": "classes",
    "Tags": "tags",
    "Answers": "answers",
    "Next sentence": "pairs",
    "Several texts": "classes",
    "Rank": "classes",
    "Late interaction": "late",
}
"""View of predictions, sentences and words -> the model that has its head; of the rest splade-tiny or the default."""
GIVEN: Mapping[str, str] = {
    **{
        "text": "i love my pet python",
        "pair": "the bank of the river",
        "edited": "i love the bank",
        "other": "sre-embedding-model",
    },
    **{
        "task": "masked-lm",
        "load_task": "masked-lm",
        "module": "encoder.layer",
        "search": "query",
        "find": "attention",
    },
    **{"models": DEFAULT, "looked_at": "encoder.layer.0", "tensor": "embeddings.word_embeddings.weight"},
    **{
        "changed": "embeddings.word_embeddings.weight",
        "formats": "int8,nf4",
        "key_status": "new",
        "key_search": "bias",
    },
    **{"training": "run", "first_checkpoint": "checkpoint-2", "second_checkpoint": "checkpoint-4", "depth": "2"},
    **{"tokenizer": WORDS, "picked": "1,2", "word": "bank", "first_text": "the bank", "second_text": "the river bank"},
    **{"sentences": "A river.\nA bank.\nMoney.", "query_sentence": "Water.", "gold_pairs": "a\tb\t1\nc\td\t3"},
    **{"label": "neutral", "beside": DEFAULT, "compare": "the river", "edited_pair": "my bank", "mask": "2"},
    **{
        "labelled_texts": "a\tx\nb\ty",
        "many_texts": "my pet\nthe river",
        "target": "cosine",
        "target_class": "neutral",
    },
    **{"target_layer": "1", "target_word": "river", "direction_from": "my pet", "direction_to": "the bank"},
    **{"effect_sentences": "my pet\nthe river", "changed_head": "layer 1, head 1", "removed_heads": "layer 0, head 1"},
    **{
        "methods": "leave-one-out",
        "classes": "neutral",
        "corpus": "reviews",
        "corpus_query": "late",
        "where": "stars=1",
    },
    **{"coloured": "stars", "alike": "0.90", "part_column": "stars", "part": "1", "probe_labels": "stars", "hits": "5"},
    **{"change": "head 0.1", "levels": "2", "labels": "3", "window": "16", "shown": "3", "longest": "5", "count": "3"},
    **{"sample": "4", "probe_sample": "4", "clusters": "2", "tokens": "1,3", "queries": "1,3", "keys": "1,3"},
    **{"rows": "Embeddings", "seed": "3", "first": "8", "head_of": "masked-lm"},
}
"""Name in the address -> a value that is not its default; of the rest the last of its values, or 1."""


LEFT_OUT = ("cell", "area", "view", "source", "tokens", "queries", "keys", "look")
"""Names of an address with no value that fits every view: clicked cells, pairs of numbers, a drawing, a file."""


def opened(page: str, query: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Open an address; what its controls have of its values, and what is left of them in the address."""
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(str(Path("ui/shell.py").resolve()), default_timeout=240)
    at.switch_page(f"../pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception, f"{page} {query}: {at.exception[0].message}"
    controls = {name: str(at.session_state[name]) for name in query if name in at.session_state}
    left = {name: value for name, value in at.query_params.items() if name in query}
    left = {name: value[0] if isinstance(value, list) else value for name, value in left.items()}
    return controls, left


def asked(page: str, view: str, name: str, values: list[str]) -> str:
    """A value of a name that is not its default."""
    if name == "model":
        other = WORDS if page in ("predictions", "words") and view not in ("Pairs", "Classes") else DEFAULT
        return MODELS.get(view, other) if page in ("predictions", "sentences", "words") else other
    return GIVEN.get(name) or (values[-1] if values else "1")


def addresses() -> list[dict[str, Any]]:
    """For every view, an address with every name of its page, and what the controls of the view then have."""
    rows, found = address_names(), []
    for page, view in [(page, view) for page, views in VIEWS.items() for view in views]:
        names = [row for row in rows if page in row["pages"] or not row["pages"]]
        query = {row["name"]: asked(page, view, row["name"], row["values"]) for row in names}
        query = {name: value for name, value in query.items() if name not in LEFT_OUT}
        if view != "Two checkpoints":
            del query["other"]
        before = next((each for each in found if each["page"] == page), {"query": {}})
        query["view"] = view
        controls, _ = opened(page, {name: value for name, value in query.items() if value})
        differs = {name: value for name, value in query.items() if before["query"].get(name) != value}
        found.append({"page": page, "query": differs, "controls": controls})
        sys.stderr.write(f"{page} {view}: {sorted(controls)}\n")
    return found


def full_query(kept: list[dict[str, Any]], place: int) -> dict[str, str]:
    """The names and values of a kept address, of which the file has what the first of its page has not."""
    page = kept[place]["page"]
    first = next(each for each in kept if each["page"] == page)
    return {name: value for name, value in {**first["query"], **kept[place]["query"]}.items() if value}


def rounded(value: Any) -> Any:
    """JSON with numbers of seven digits."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def written(path: Path, value: Any) -> None:
    """Write JSON that a reader can follow: a line for each entry of the outermost level."""
    brackets, entries = ("{}", value.items()) if isinstance(value, dict) else ("[]", enumerate(value))
    names = {name: f"{json.dumps(name)}: " if isinstance(value, dict) else "" for name, _ in entries}
    listed = value.values() if isinstance(value, dict) else value
    lines = [
        f"{name}{json.dumps(rounded(each), ensure_ascii=False)}"
        for name, each in zip(names.values(), listed, strict=True)
    ]
    path.write_text("\n".join((brackets[0], ",\n".join(lines), brackets[1], "")), encoding="utf-8")


def make(folder: Path) -> None:
    """Write the kept files but for addresses."""
    (folder / "json").mkdir(parents=True, exist_ok=True)
    make_inputs(folder)
    for name, arguments in COMMANDS.items():
        try:
            written(folder / "json" / f"{name}.json", printed(arguments, folder))
        except AssertionError as error:
            sys.stderr.write(f"{error}\n")
    promised = {"commands": commands, "figures": figures, "settings": settings, "python": python_names}
    for name, read in (promised | {"address-names": address_names}).items():
        written(folder / f"{name}.json", read())


def make_inputs(folder: Path) -> None:
    """Write models, a corpus and lists."""
    from safetensors.numpy import load_file, save_file

    from tests.helpers.multi_vector import save_pylate
    from tests.helpers.tiny_heads import save_tiny_head
    from tests.helpers.training_runs import write_state
    from tests.helpers.written_adapters import write_adapter

    models = folder / "models"
    shutil.rmtree(models, ignore_errors=True)
    shutil.rmtree(folder / "corpora", ignore_errors=True)
    small = {"num_hidden_layers": 1, "hidden_size": 4, "num_attention_heads": 2, "intermediate_size": 6}
    names = ("contradiction", "entailment", "neutral")
    labels = {"id2label": dict(enumerate(names)), "label2id": {each: place for place, each in enumerate(names)}}
    deeper = {**small, "num_hidden_layers": 2}
    save_tiny_head("bert", "sequence-classification", models / "classes", **deeper, **labels)
    save_tiny_head("bert", "token-classification", models / "tags", **small)
    save_tiny_head("bert", "question-answering", models / "answers", **small)
    save_tiny_head("bert", "pretraining", models / "pairs", **small)
    write_adapter(models / "adapter", "classes", models / "classes")
    save_pylate(models / "late")
    history = []
    for step in (2, 4):
        checkpoint = save_tiny_head("bert", "sequence-classification", models / "run" / f"checkpoint-{step}", **small)
        weights = load_file(checkpoint / "model.safetensors")
        moved = {
            name: each * (1 + step / 8 * np.sin(np.arange(each.size))).reshape(each.shape)
            for name, each in weights.items()
        }
        save_file(
            {name: each.astype(np.float32) for name, each in moved.items()},
            checkpoint / "model.safetensors",
            {"format": "pt"},
        )
        history += [{"epoch": step / 4, "learning_rate": 0.01, "loss": 1 / step, "step": step}]
        history += [{"epoch": step / 4, "eval_accuracy": 0.5 + step / 16, "step": step}]
        write_state(checkpoint, step, history)
    rows = [
        "text,label",
        "i love my pet,LABEL_0",
        "the bank of the river,LABEL_1",
        "my language,LABEL_0",
        "python,LABEL_1",
    ]
    (folder / "texts.csv").write_text("\n".join(rows) + "\n")
    pairs = ["sentence1,sentence2,score", "A river.,A bank.,2.5", "Money.,A bank.,4", "A cat.,A river.,0.5"]
    (folder / "pairs.csv").write_text("\n".join(pairs) + "\n")
    reviews = [
        *("sentence,stars", "The parcel came two weeks late.,1", "Fast delivery and friendly people.,5"),
        *(
            "The book is good.,5",
            "I never got my order.,1",
            "Good value for the price.,4",
            "The screen broke on day one.,1",
        ),
    ]
    (folder / "reviews.csv").write_text("\n".join(reviews) + "\n")
    arguments = ("corpus", "embed", DEFAULT, "reviews.csv", "-o", "corpora/reviews")
    variables = os.environ | {"PYTHONPATH": os.getcwd()}
    subprocess.run([sys.executable, "-m", "bertviz_core", *arguments], cwd=folder, env=variables, check=True)
    corpus = folder / "corpora" / "reviews"
    for name in ("vectors.npy", "writer.lock"):  # made again
        (corpus / name).unlink(missing_ok=True)
    manifest = corpus / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(folder), "/data"))


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1]).resolve()
    make(FOLDER)
    os.environ |= {"INSIDE_BERT_MODELS_DIR": str(FOLDER / "models"), "INSIDE_BERT_CORPORA_DIR": str(FOLDER / "corpora")}
    written(FOLDER / "addresses.json", addresses())
