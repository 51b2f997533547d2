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
# # Taking BERT apart
#
# What is in a BERT model, and what does it do with a sentence? This notebook goes from the outside in: the named
# parameters, their shapes and their sum; the modules that hold them; what a task head adds; and then one sentence,
# from its tokens to the vectors of the last layer.
#
# Counting needs no weights, so the first part is about `bert-base-uncased`. The second part runs a model on texts:
# `all-MiniLM-L6-v2`, a smaller BERT with 6 layers, which comes with the package and needs no network.

# %%
import numpy as np
import plotly.io as pio
import torch
from IPython.display import display
from transformers import BertConfig, BertModel

from bertviz_core import open_model

# Figures as plotly's own type for Jupyter, and as HTML for `jupyter nbconvert --to html`: that file opens offline.
pio.renderers.default = "plotly_mimetype+notebook"

# %% [markdown]
# ## 199 named parameters
#
# A parameter is a matrix or vector of numbers that was learned. Each has a name, which says where it stands, and a
# shape. PyTorch lists them with `named_parameters()`; here they come from the model's config, in a table.

# %%
base = open_model("bert-base-uncased")
ledger = base.parameters()
table = ledger.to_pandas()
print(f"{len(table)} named parameters")
table[["name", "shape", "numel"]]

# %% [markdown]
# They fall into three groups: the embeddings at the entrance, twelve layers that are alike, and the pooler at the exit.

# %%
for group, start in (("Embeddings", "embeddings."), ("First layer", "encoder.layer.0."), ("Pooler", "pooler.")):
    rows = table[table.name.str.startswith(start)]
    print(f"{group}: {len(rows)} of {len(table)}")
    display(rows[["name", "shape"]])

# %% [markdown]
# ## Where the 109,482,240 numbers are
#
# A shape of (30522, 768) holds 30,522 × 768 numbers. The parts add up to the whole.

# %%
for part, count in ledger.components.items():
    print(f"{part:12}{count:>14,}{count / ledger.total:>8.1%}")
print(f"{'total':12}{ledger.total:>14,}")

assert ledger.total == sum(ledger.components.values()) == table.numel.sum() == 109_482_240

# %%
ledger.figure(depth=3)

# %% [markdown]
# ## The module tree
#
# The names come from the tree of modules: `encoder.layer.0.attention.self.query.weight` is the matrix `weight` of the
# module `query`, in `self`, in `attention`, and so on. On the device `meta` PyTorch builds the tree without any numbers,
# and it has the same parameters under the same names.

# %%
with torch.device("meta"):
    tree = BertModel(BertConfig())
print(tree)

assert [name for name, _ in tree.named_parameters()] == table.name.to_list()
assert sum(parameter.numel() for parameter in tree.parameters()) == ledger.total

# %% [markdown]
# ## What a task head adds, and "some weights were not used"
#
# A class such as `BertForSequenceClassification` is the same model with a small head on top. When a checkpoint that has
# no such head is loaded into it, transformers says that some weights are newly initialised: the head is random, and its
# answers mean nothing until it has been trained. A load report tells this before anything is loaded. It reads the file's
# header, so from here on the model is the one that is on this machine.

# %%
model = open_model("all-MiniLM-L6-v2")
report = model.load_report("sequence-classification")
print("random:  ", *report.new)
print("not used:", *(report.unused or ["nothing"]))
print(f"from the file: {report.fraction_from_file:.4%} of the parameters")

assert report.new == ("classifier.weight", "classifier.bias")

# %% [markdown]
# ## A sentence becomes tokens
#
# The tokenizer cuts a text into pieces of its vocabulary and puts `[CLS]` before them and `[SEP]` behind. A word that
# the vocabulary lacks falls into several pieces; `##` marks the second and later ones.

# %%
text = "Sinan loves a beautiful day"
model.tokens(text)

# %%
assert model.tokens(text).input_ids[0] == 101, "the id of [CLS]"
model.tokens(text).figure()

# %% [markdown]
# ## One vector for each token: `last_hidden_state`
#
# The model keeps one vector per token in every layer. `hidden_states` has one entry more than there are layers: entry 0
# is what the embeddings hand to the first layer.

# %%
run = model.trace(text)
print("hidden_states     ", run.hidden_states.shape, "= (layers + 1, tokens, hidden size)")
print("last_hidden_state ", run.last_hidden_state.shape)

# %%
run.figure("hidden")

# %% [markdown]
# ## [CLS] and the pooler
#
# The vector of the first token after the last layer goes through one more matrix and a tanh: that is `pooler_output`.
# Both are shown below, one above the other; what the pooler gives lies between -1 and 1.

# %%
cls = run.last_hidden_state[0]
print("[CLS]         ", cls[:6].round(4))
print("pooler_output ", run.pooler_output[:6].round(4))

assert np.abs(run.pooler_output).max() <= 1
run.figure("pooler")

# %% [markdown]
# ## How alike are two sentences?
#
# The cosine of two vectors is 1 where they point the same way and 0 where they stand at right angles. This model was
# trained so that the mean of its token vectors says what a sentence is about, so *mean* is the pooling to use.

# %%
sentences = model.sentences(
    ["I love my pet python.", "My snake sleeps in its terrarium.", "I love coding in Python.", "The program has a bug."]
)
sentences.figure()

# %%
first, second = sentences.vectors[:2]
by_hand = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
print(f"cosine of the first two, by hand: {by_hand:.4f}")

assert np.isclose(by_hand, sentences.similarity[0, 1], atol=1e-6)
sentences.nearest("Which animal do you keep?", k=3)

# %% [markdown]
# The same word has another vector in another sentence. Here "python" is followed through the layers in both.

# %%
model.figure("word", "I love my pet python.", "I love coding in python.", word="python")

# %% [markdown]
# ## Twelve heads, but one query matrix
#
# Each layer has twelve heads and each head has its own query, key and value. Yet `query.weight` is one matrix. It is the
# twelve matrices of the heads, one above the other: a product with the whole matrix, cut into twelve parts afterwards,
# gives the same numbers as twelve products.

# %%
heads = model.heads(0)
print("one matrix per head:", heads.query.shape, "= (heads, head size, hidden size)")

x = run.hidden_states[0]
twelve = np.stack([x @ head.T for head in heads.query], axis=1)
one = (x @ np.concatenate(heads.query).T).reshape(twelve.shape)
print(f"largest difference: {np.abs(one - twelve).max():.1e}")

assert np.allclose(one, twelve, atol=1e-5)
heads.figure()

# %% [markdown]
# ## What the heads look at
#
# Every head gives each token a row of weights that add up to 1. A large weight says how much of a token's value vector
# is passed on; it does not say that the token matters to the answer. The notebook *Which heads and words matter* measures
# that.

# %%
weights = run.attention(layer=3, head=5)
assert np.allclose(weights.sum(axis=1), 1, atol=1e-5)
run.figure("attention", layer=3, head=5)

# %% [markdown]
# ## Go on in the dashboard
#
# Start it with `inside-bert`; the same picture stands at
# [localhost:8501/attention](http://localhost:8501/attention?model=all-MiniLM-L6-v2&text=Sinan+loves+a+beautiful+day&layer=3&head=5),
# and the parameters of BERT base at
# [localhost:8501/parameters](http://localhost:8501/parameters?model=bert-base-uncased).
