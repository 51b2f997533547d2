"""Fuzzing targets: each reads one kind of untrusted input, one random case after another.

A target is created once, with its own folder, and then called for each case. A case that is refused with a BertvizError
has passed; one that ends in another exception or takes too long has not.
"""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.checkpoints.training.log import STATE_FILE, log_of
from bertviz_core.errors import LessonError, TextError
from bertviz_core.interventions.target_parsing import parse_target
from bertviz_core.interventions.targets import file_direction
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.parameters.adapters.updates import adapter_updates
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.predictions.late_interaction import InteractionEncoder, late_interaction
from bertviz_core.predictions.late_interaction_plan import interaction_plan
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import ABOUT, introduction, probe_bytes, read_probe
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.sentences.lists import read_upload
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, escape_markdown
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.fuzz.cases import Brought, Case
from tests.fuzz.corpora import indexes, manifests, nbytes_of, shards, vectors
from tests.fuzz.mutations import changed_bytes, changed_json
from tests.fuzz.training_runs import training_folders
from tests.helpers import tiny
from tests.helpers.hostile_addresses import HOSTILE, VIEWS, opened_by, parameters
from tests.helpers.hostile_tables import written
from tests.helpers.multi_vector import save_pylate, save_stanford
from tests.helpers.tiny_models import save_tiny
from tests.helpers.written_adapters import write_adapter
from ui.address.navigation import left_query
from ui.address.registry import TYPED, whole
from ui.lessons.library import file_name, lesson_file, lesson_names, lesson_yaml, parse_lesson, read_lesson
from ui.lessons.pins import PinnedViews

PAGES = sorted({page for page, _ in VIEWS})
LESSONS = sorted((Path(__file__).parents[2] / "ui" / "lessons" / "shipped").glob("*.yaml"))
HEADER = {
    "__metadata__": {"format": "pt"},
    "embeddings.weight": {"dtype": "F32", "shape": [7, 6], "data_offsets": [0, 168]},
    "layer.0.weight": {"dtype": "BF16", "shape": [6, 4], "data_offsets": [168, 216]},
    "layer.0.bias": {"dtype": "F32", "shape": [4], "data_offsets": [216, 232]},
}
PAYLOAD_NBYTES = 232
TEXTS = ("I love my pet python.", "", "\u202e\0 é😀 " * 20, "a" * 3_000)
ROWS = {"text": ["One, two.", 'He said "no".', "", "é\n"], "kind": ["a", "b", "a", "c"], "number": [1, 2, None, 4]}
TABLES = {
    "list.csv": b'text,kind,number\n"One, two.",a,1\n"He said ""no"".",b,2\n,a,\n\xc3\xa9,c,4\n' * 3,
    "list.tsv": b"text\tkind\nOne.\ta\nTwo.\tb\n",
    "list.jsonl": b'{"text": "One.", "kind": "a", "n": 1}\n{"text": "\\u00e9", "n": 2.5, "kind": null}\n' * 2,
    "list.json": b'[{"text": "One."}, {"text": "Two.", "tags": ["x"]}]',
    "list.txt": "One.\nTwo.\né\n".encode(),
    "list.parquet": written(pa.table(ROWS)),
}
LONG = "a" * 200_000
NAMED = ("cosine", "class:good", "word:bank@3", "answer:2-4", "probe:mine.zip@a", "state:1,2,3", "direction:1,2,A->B")
CONFIG_S = 10.0
"""Seconds of processor time for a config, whose model is built and run without values."""
PAGE_S = 30.0
"""Seconds of processor time for a page, on which models run, maybe also for the previous page."""


def local_settings(folder: Path) -> Settings:
    """Settings with this models folder and the Hub switched off."""
    return replace(Settings.from_environment(), models_dir=folder, allow_hub=False, allowed_models=(), child_seconds=5)


def headers(folder: Path) -> Case:
    """Safetensors files and lists of shards."""

    def case(rng: Random) -> Brought:
        raw = json.dumps(changed_json(rng, HEADER) if rng.random() < 0.6 else HEADER).encode()
        file = struct.pack("<Q", len(raw)) + raw + bytes(PAYLOAD_NBYTES)
        (folder / "model.safetensors").write_bytes(changed_bytes(rng, file) if rng.random() < 0.5 else file)
        index = folder / "model.safetensors.index.json"
        index.unlink(missing_ok=True)
        if rng.random() < 0.3:
            shards = {"weight_map": dict.fromkeys(HEADER, "model.safetensors")}
            index.write_text(json.dumps(changed_json(rng, shards)))
        return Brought(nbytes_of(folder), lambda: read_header(folder))

    return case


def adapters(folder: Path) -> Case:
    """Adapters of a tiny BERT: settings and tensors, merged into their base."""
    settings = local_settings(folder)
    base = save_tiny("bert", folder / "base")
    patterns = {"alpha_pattern": {"query": 4}, "rank_pattern": {"value": 3}, "layers_to_transform": [0, 1, 2]}
    named = {"target_modules": ["query", "value"], "exclude_modules": "key", "modules_to_save": [], "bias": "none"}
    mine = write_adapter(folder / "mine", "base", base, layers_pattern=["layer"], **patterns, **named)
    good = {path.name: path.read_bytes() for path in mine.iterdir()}

    def read() -> None:
        source = resolve("mine", settings)
        source_ledger(source, settings)
        adapter_updates(source, settings)
        weights_folder(source, settings)

    def case(rng: Random) -> Brought:
        for name, raw in good.items():
            if name.endswith(".json") and rng.random() < 0.8:
                raw = json.dumps(changed_json(rng, json.loads(raw))).encode()
            (mine / name).write_bytes(changed_bytes(rng, raw) if rng.random() < 0.3 else raw)
        return Brought(nbytes_of(mine), read, CONFIG_S)

    return case


def configs(folder: Path) -> Case:
    """Configs of all families, counted and drawn without weights."""
    settings, model = local_settings(folder), folder / "mine"
    model.mkdir()

    def read() -> None:
        source = resolve("mine", settings)
        source_ledger(source, settings)
        model_facts(source.name, source.config)

    def case(rng: Random) -> Brought:
        config: Any = changed_json(rng, tiny.tiny_config(rng.choice(sorted(tiny.CONFIGS))))
        raw = json.dumps(config).encode()
        (model / "config.json").write_bytes(changed_bytes(rng, raw) if rng.random() < 0.2 else raw)
        return Brought(nbytes_of(model), read, CONFIG_S)

    return case


def interactions(folder: Path) -> Case:
    """Files of late-interaction checkpoints of PyLate and of Stanford."""
    models = [save_pylate(folder / "pylate"), save_stanford(folder / "stanford")]
    names = ("modules.json", "1_Dense/config.json", "config_sentence_transformers.json", "sentence_bert_config.json")
    files = [(models[0] / name) for name in names] + [models[1] / "artifact.metadata"]
    right = {path: path.read_bytes() for path in files}
    sources = [folder_source(model.name, model) for model in models]
    settings = replace(local_settings(folder), isolate_models=False)  # their configs are those of the tests
    opened = [OpenedModel(model.name, settings) for model in models]
    loaded = [each.loaded for each in opened]

    def case(rng: Random) -> Brought:
        for path, raw in right.items():
            kind = rng.random()
            changed = json.dumps(changed_json(rng, json.loads(raw))).encode()
            path.write_bytes(changed if kind < 0.4 else changed_bytes(rng, raw) if kind < 0.5 else raw)
        place = rng.randrange(2)

        def read() -> None:
            plan = interaction_plan(sources[place], settings)
            escape_markdown(plan.reason).encode()
            encoder = InteractionEncoder(loaded[place], opened[place].tokenizer, plan)
            assert np.isfinite(late_interaction(encoder, "my pet", "the river").score)

        return Brought(nbytes_of(folder), read, CONFIG_S)

    return case


def receipts(folder: Path) -> Case:
    """Files beside a checkpoint that name what decides its numbers, and what is said of them."""
    settings, model = local_settings(folder), save_tiny("bert", folder / "mine")
    library = "sentence_transformers.models."
    parts = ((f"{library}Transformer", ""), (f"{library}Dense", "2_Dense"), ("own.Head", "3_Head"))
    own = {"auto_map": {"AutoModel": "own.Model", "AutoTokenizer": ["own.Tokenizer", None]}}
    config = json.loads((model / "config.json").read_text())
    right = {
        "config.json": {**config, **own, "custom_pipelines": {"pair": {"impl": "own.Pair"}}},
        "modules.json": [{"idx": 0, "name": "0", "path": path, "type": kind} for kind, path in parts],
        "tokenizer_config.json": {**json.loads((model / "tokenizer_config.json").read_text()), **own},
        "config_sentence_transformers.json": {**own, "prompts": {"query": "q: "}},
        "sentence_bert_config.json": {**own, "max_seq_length": 9},
        "adapter_config.json": {"peft_type": "LORA", "auto_mapping": {"parent_library": "own"}},
    }
    for name in ("2_Dense", "head"):
        (model / name).mkdir()
        (model / name / "pytorch_model.bin").touch()
    further = model / "further"
    further.mkdir()
    (further / "a.safetensors").touch()

    def case(rng: Random) -> Brought:
        nonlocal further
        name = (
            changed_bytes(rng, b"head").replace(b"/", b"").replace(b"\0", b"")[:200].decode("utf-8", "surrogateescape")
        )
        further = further.rename(model / f"further{name}")
        for name, value in right.items():
            changed = value if rng.random() < 0.5 else changed_json(rng, value)
            (model / name).write_text(json.dumps(changed))

        def read() -> None:
            notices = resolve("mine", settings).notices
            assert len(set(notices)) == len(notices)
            assert all(len(each) < 1_500 and each == escape_controls(each) for each in notices), notices

        return Brought(nbytes_of(model), read)

    return case


def tokenizers(folder: Path) -> Case:
    """Serialized tokenizers and their settings, and texts for them."""
    settings, model = local_settings(folder), save_tiny("bert", folder / "mine")
    right = {name: (model / name).read_bytes() for name in ("tokenizer.json", "tokenizer_config.json")}

    def case(rng: Random) -> Brought:
        for name, raw in right.items():
            kind = rng.random()
            whole_json = json.dumps(changed_json(rng, json.loads(raw))).encode()
            (model / name).write_bytes(whole_json if kind < 0.6 else changed_bytes(rng, raw) if kind < 0.8 else raw)
        text, pair = rng.choice((*TEXTS, LONG)), rng.choice((None, *TEXTS))

        def read() -> None:
            tokenize(load_tokenizer(resolve("mine", settings), settings), text, pair)

        return Brought(nbytes_of(model) + len(text), read)

    return case


def addresses(folder: Path) -> Case:
    """Values of one address parameter; sometimes a page that is opened with many of them."""
    names = sorted(parameters())
    for page in PAGES:  # imports and what every page keeps are not part of a case
        opened_by(page, {})

    def value_read(text: str) -> None:
        number = whole(text)
        assert number is None or 0 <= number < 10**9
        assert all(isinstance(each, list) for each in left_query(text).values())
        escape_markdown(text)

    def case(rng: Random) -> Brought:
        text = changed_bytes(rng, str(rng.choice(HOSTILE)).encode()).decode("utf-8", "replace")
        if rng.random() >= 0.02:
            return Brought(len(text), lambda: value_read(text))
        page, view = rng.choice(VIEWS)
        query = {name: rng.choice((*HOSTILE, text)) for name in rng.sample(names, 60)}
        query |= {"view": view, rng.choice(TYPED): LONG, **({"arrive": text} if rng.random() < 0.1 else {})}

        def read() -> None:
            at = opened_by(page, query)
            assert not at.exception, (page, view, [each.value for each in at.exception])

        return Brought(len(str(query)), read, PAGE_S)

    return case


def uploads(folder: Path) -> Case:
    """Uploaded tables and lists."""
    settings = local_settings(folder)

    def case(rng: Random) -> Brought:
        name = rng.choice(sorted(TABLES))
        data = changed_bytes(rng, TABLES[name])
        other = changed_bytes(rng, name.encode()).decode("utf-8", "replace") if rng.random() < 0.1 else name
        column = rng.choice((None, None, "text", "number", "none"))

        def read() -> None:
            table = read_upload(other, data, settings, column)
            assert len(table.sentences) == len(table.rows)

        return Brought(len(data) + len(other), read)

    return case


def lessons(folder: Path) -> Case:
    """Lessons with random files and names."""
    right = [path.read_bytes() for path in LESSONS]

    def case(rng: Random) -> Brought:
        (folder / "mine.yaml").write_bytes(changed_bytes(rng, rng.choice(right)))
        name = changed_bytes(rng, b"mine").decode("utf-8", "replace")

        def read() -> None:
            lesson_names([folder])
            read_lesson(lesson_file("mine", [folder]), PAGES)
            lesson_file(name, [folder])

        return Brought(nbytes_of(folder) + len(name), read)

    return case


def pins(_: Path) -> Case:
    """Lessons that are opened among the pinned views, which are then edited and written to a file again."""
    right = [path.read_bytes() for path in LESSONS]

    def case(rng: Random) -> Brought:
        content = rng.choice(right)
        content = changed_bytes(rng, content) if rng.random() < 0.7 else content
        texts = [changed_bytes(rng, b"a title").decode("utf-8", "replace") for _ in range(5)]
        place, to = rng.randrange(9), rng.randrange(9)

        def read() -> None:
            views = PinnedViews().with_lesson(parse_lesson(content, "mine.yaml", PAGES)).moved(place, to)
            with suppress(LessonError):
                views = views.with_texts(place % len(views.pins), texts[0], texts[1])
            written = lesson_yaml(views.lesson())
            assert parse_lesson(written.encode(), "mine.yaml", PAGES).steps == views.lesson().steps
            about = views.with_texts_of_lesson(*texts[1:])
            lesson_yaml(about.lesson())
            file_name(about.title)

        return Brought(len(content) + sum(map(len, texts)), read)

    return case


def probes(folder: Path) -> Case:
    """Files of probes, the zip and its content."""
    weights = np.ones((2, 6), dtype=np.float32)
    right = probe_bytes(Probe("m", "", "mean", 1, ("a", "b"), weights, weights[:, 0], "t", 9, 0, 0.5, 0.1))
    with zipfile.ZipFile(io.BytesIO(right)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}

    def case(rng: Random) -> Brought:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for name, raw in parts.items():
                other = json.dumps(changed_json(rng, json.loads(raw))).encode() if name == ABOUT else raw
                archive.writestr(name, changed_bytes(rng, other) if rng.random() < 0.3 else other)
        file = changed_bytes(rng, right) if rng.random() < 0.3 else data.getvalue()

        def read() -> None:
            probe = read_probe("mine.zip", file)
            escape_markdown(" ".join((introduction(probe), *probe.classes))).encode()

        return Brought(len(file), read)

    return case


def training_logs(folder: Path) -> Case:
    """Logs of trainers."""
    rows = [{"step": 1, "epoch": 0.5, "loss": 2.5}, {"step": 2, "epoch": 1.0, "eval_f1": float("nan"), "note": "a"}]
    right = {"global_step": 2, "save_steps": 1, "log_history": rows * 4}

    def case(rng: Random) -> Brought:
        raw = changed_bytes(rng, json.dumps(changed_json(rng, right)).encode())
        (folder / STATE_FILE).write_bytes(raw)

        def read() -> None:
            log = log_of("mine", (), (), [("", folder)])
            escape_markdown(" ".join((*log.metrics, *log.notices))).encode()
            assert all(isinstance(value, float) for entry in log.entries for value in entry.values.values())

        return Brought(len(raw), read)

    return case


def directions(folder: Path) -> Case:
    """Files of one vector, and targets as written in an address or a command."""
    path = folder / "mine.npy"
    np.save(path, np.arange(6, dtype=np.float32))
    right = path.read_bytes()

    def case(rng: Random) -> Brought:
        raw = changed_bytes(rng, right)
        path.write_bytes(raw)
        named = changed_bytes(rng, rng.choice(NAMED).encode()).decode("utf-8", "replace")

        def read() -> None:
            with suppress(TextError):
                parse_target(named, has_pair=True)
            with suppress(TextError):
                file_direction(named)
            vector = file_direction(str(path))
            assert vector.ndim == 1
            assert vector.dtype == np.float64

        return Brought(len(raw) + len(named), read)

    return case


TARGETS: Mapping[str, Callable[[Path], Case]] = {
    each.__name__: each
    for each in (
        *(
            headers,
            adapters,
            configs,
            interactions,
            receipts,
            tokenizers,
            addresses,
            uploads,
            lessons,
            pins,
            probes,
            directions,
        ),
        *(training_logs, training_folders, manifests, shards, vectors, indexes),
    )
}
"""Name -> function that creates the target with its own folder."""
