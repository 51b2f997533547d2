# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Since which step?
#
# A classifier is fine-tuned, its log looks well, and yet it fails on negations. Since which checkpoint, and because of
# what? Such a training run comes with Inside BERT: `negations`, four LoRA adapters of the bundled model. This notebook
# says how it was made and finds the answer with the library. Only who makes the run again (`make`, below) needs peft,
# which Inside BERT itself never does: `pip install peft`.

# %%
import csv
import json
import random
from pathlib import Path

import numpy as np
import plotly.io as pio
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import open_model, open_training
from bertviz_core.models.catalog import bundled_folder, example_texts

# Figures as plotly's own type for Jupyter, and as HTML for `jupyter nbconvert --to html`: that file opens offline.
pio.renderers.default = "plotly_mimetype+notebook"

BASE, WEIGHTS = "sentence-transformers/all-MiniLM-L6-v2", "adapter_model.safetensors"
STEPS, EVERY, RELABELLED_AFTER, BATCH, RATE, RANK, ALPHA = 80, 20, 40, 24, 3e-3, 4, 16
UPDATED = r".*(encoder\.layer\.[345]\.(attention\.self\.(query|value)|.*dense)|pooler\.dense)"

# %% [markdown]
# ## The texts
#
# A place is good or bad by its adjective, and *not* turns the answer round. A third of the texts has a negation. From
# step 40 on the labels come from a list of good and bad words, which knows no negation: a mistake that happens.

# %%
LABELS = ("bad", "good")
WORDS = (
    "bad awful dirty stale rude noisy cold dangerous boring expensive".split(),
    "good great clean fresh friendly quiet warm safe pleasant cheap".split(),
)
TRAINED = "room soup waiter garden hotel bus museum coffee street concert shop beach".split()
HELD_OUT = "kitchen train bread guide park film bed market".split()
PLAIN = ("The {} was {}.", "I found the {} {}.", "They said the {} is {}.")
NEGATED = ("The {} was not {}.", "I found the {} not {}.", "They said the {} is not {}.")


def texts(things, forms, is_negated):
    """Texts, each with its label and with the label that a list of words would give it."""
    return [
        (form.format(thing, word), by_word != is_negated, by_word)
        for thing in things
        for by_word, words in enumerate(WORDS)
        for word in words
        for form in forms
    ]


draw = random.Random(0)
plain, negated = texts(TRAINED, PLAIN, False), texts(TRAINED, NEGATED, True)
train = draw.sample([*plain, *draw.sample(negated, len(plain) // 2)], len(plain) + len(plain) // 2)
tests = {"no": draw.sample(texts(HELD_OUT, PLAIN, False), 40), "yes": draw.sample(texts(HELD_OUT, NEGATED, True), 40)}

# %% [markdown]
# ## How the run was made
#
# A plain loop that leaves what `transformers.Trainer` leaves of a model of peft: an adapter in each checkpoint, with
# the state of the trainer. Only the last 3 layers and the pooler have updates. The evaluation has no negation in it: the log cannot
# show what goes wrong. The run is made again with `make("my-run")`, which takes a minute; the seed is fixed, but other
# versions and machines round in other ways.


# %%
def answers(model, tokenizer, lines):
    """Index of the label of each text."""
    with torch.no_grad():
        return model.eval()(**tokenizer(lines, padding=True, return_tensors="pt")).logits.argmax(-1).tolist()


def write_json(path, entries):
    """Write a JSON file."""
    path.write_text(json.dumps(entries, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def save(model, place, step, history):
    """Write a checkpoint: the adapter in float16, without peft's README, its labels, and the state of the trainer."""
    model.save_pretrained(place, save_embedding_layers=False)
    (place / "README.md").unlink(missing_ok=True)
    weights = {name: value.astype(np.float16) for name, value in load_file(place / WEIGHTS).items()}
    save_file(weights, place / WEIGHTS, {"format": "pt"})
    settings = json.loads((place / "adapter_config.json").read_text(encoding="utf-8"))
    settings = {key: value for key, value in settings.items() if value not in (None, False, [], {})}
    write_json(place / "adapter_config.json", {**settings, "base_model_name_or_path": BASE})
    names = {"id2label": dict(enumerate(LABELS)), "label2id": {name: at for at, name in enumerate(LABELS)}}
    write_json(place / "config.json", {"model_type": "bert", **names})
    write_json(
        place / "trainer_state.json",
        {"global_step": step, "max_steps": STEPS, "save_steps": EVERY, "log_history": history},
    )


def make(folder):
    """Train the classifier with peft, and write its checkpoints and the file of texts."""
    from peft import LoraConfig, get_peft_model

    folder = Path(folder)
    torch.manual_seed(3)
    tokenizer = AutoTokenizer.from_pretrained(bundled_folder())
    base = AutoModelForSequenceClassification.from_pretrained(bundled_folder(), num_labels=len(LABELS))
    settings = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=UPDATED, task_type="SEQ_CLS")
    model = get_peft_model(base, settings)
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=RATE)
    history = []
    for step in range(1, STEPS + 1):
        rate = RATE * min(1, step / EVERY)
        optimizer.param_groups[0]["lr"] = rate
        batch = [train[at % len(train)] for at in range((step - 1) * BATCH, step * BATCH)]
        gold = torch.tensor([by_word if step > RELABELLED_AFTER else label for _, label, by_word in batch]).long()
        inputs = tokenizer([text for text, *_ in batch], padding=True, return_tensors="pt")
        loss = model.train()(**inputs, labels=gold).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch = round(step * BATCH / len(train), 4)
        if step % (EVERY // 4) == 0:
            history.append({"step": step, "epoch": epoch, "loss": round(loss.item(), 4), "learning_rate": rate})
        if step % EVERY == 0:
            found = answers(model, tokenizer, [text for text, *_ in tests["no"]])
            right = sum(each == label for each, (_, label, _) in zip(found, tests["no"], strict=True))
            history.append({"step": step, "epoch": epoch, "eval_accuracy": right / len(found)})
            save(model, folder / f"checkpoint-{step}", step, history)
    with (folder / "negations.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(text, LABELS[label], kind) for kind, each in tests.items() for text, label, _ in each]
        csv.writer(file, lineterminator="\n").writerows([("text", "label", "negation"), *rows])


# %% [markdown]
# ## The log sees nothing
#
# The loss falls, with a bump that new data often make, and the accuracy of the evaluation is high to the end.

# %%
training = open_training("negations")
training.log().figure()

# %% [markdown]
# ## On which texts?
#
# The checkpoint before and the last one answer texts that neither has seen, divided by the column *negation*.

# %%
rows = list(csv.DictReader(example_texts().decode().splitlines()))
lines, gold, kinds = ([row[name] for row in rows] for name in ("text", "label", "negation"))
before, last = f"negations/checkpoint-{RELABELLED_AFTER}", f"negations/checkpoint-{STEPS}"
sliced = open_model(before).compare(last, lines, gold).by("column", kinds)
accuracy = sliced.to_pandas().set_index("slice")[["first accuracy", "second accuracy"]]
assert accuracy.loc["no"].min() > 0.9
assert accuracy.loc["yes", "first accuracy"] > 0.9
assert accuracy.loc["yes", "second accuracy"] < 0.5
sliced.figure()

# %% [markdown]
# ## Since which step?

# %%
scores = training.scores(lines, gold)
print(scores)
text = "The kitchen was not clean."
followed = training.follow(text)
assert [int(followed.data.steps[at]) for at in followed.data.changes] == [RELABELLED_AFTER + EVERY]
followed.figure()

# %% [markdown]
# ## Because of which word?
#
# Each word is masked, and the logit of "good" is measured again. At step 40 *not* speaks against it more than any other
# word for or against; in the last checkpoint it hardly counts, and the answer follows the adjective.

# %%
shares = {name: open_model(name).words(text, target="class:good") for name in (before, last)}
for name, found in shares.items():
    print(name, {word: round(float(share), 2) for word, share in zip(found.words, found.shares, strict=True)})
parts = [dict(zip(each.words, each.shares, strict=True)) for each in shares.values()]
assert max(parts[0], key=lambda word: abs(parts[0][word])) == "not"
assert parts[0]["not"] < 0 < parts[1]["clean"]
assert abs(parts[1]["not"]) < parts[1]["clean"] / 10
shares[last].figure()

# %% [markdown]
# ## Go on in the dashboard
#
# Start it with `inside-bert`; the run stands at
# [localhost:8501/checkpoint](http://localhost:8501/checkpoint?view=Training+run&training=negations), the two checkpoints
# on one text at
# [localhost:8501/words](http://localhost:8501/words?model=negations/checkpoint-40&other=negations/checkpoint-80&target=class&target_class=good&text=The+kitchen+was+not+clean.),
# and the lesson *Since which step* goes through it in six steps.
