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
# # Attention of 512 tokens without fear
#
# A model of 6 layers and 12 heads has 72 maps of attention. For 512 tokens each map has 262,144 cells, almost 19 million
# in all, and a notebook that draws them one by one stops answering. Here the run keeps no map at all: a map is computed
# when it is asked for, and the overview is made of small pictures that keep what can be seen.

# %%
import numpy as np
import plotly.io as pio

from bertviz_core import open_model

# Figures as plotly's own type for Jupyter, and as HTML for `jupyter nbconvert --to html`: that file opens offline.
pio.renderers.default = "plotly_mimetype+notebook"

model = open_model("all-MiniLM-L6-v2")

# %% [markdown]
# ## A text as long as the model reads

# %%
sentence = "The old python sleeps near the river, and nobody wants to wake it before dawn. "
text = sentence * 30
run = model.trace(text)
print(f"{len(run.tokens)} tokens, {run.hidden_states.nbytes / 2**20:.1f} MiB of hidden states")

# %% [markdown]
# ## All heads at a glance
#
# One small picture for each head, layers from top to bottom, heads from left to right. Stripes that stand upright are
# tokens that everybody looks at, often `[CLS]`, `[SEP]` or a full stop. Diagonals are heads that look at a fixed distance.

# %%
run.figure("atlas")

# %% [markdown]
# ## One head, read in parts
#
# A map of 512 × 512 cells is finer than a screen. The figure *long* shows the whole map coarsely, each cell the mean of
# those below it, and a part of it exactly. `rows` and `columns` say which part.

# %%
run.figure("long", layer=2, head=0)

# %% [markdown]
# ## The numbers themselves
#
# `attention` gives a map as an array, one head or all heads of a layer. Each row is a distribution: it sums to 1.

# %%
weights = run.attention(layer=2)
print(weights.shape, "= (heads, query tokens, key tokens)")
assert weights.shape == (12, 512, 512)
assert np.allclose(weights.sum(axis=-1), 1, atol=1e-5)

# %% [markdown]
# The entropy of a row says how widely a token looks: 0 for one token alone, ln(512) = 6.24 nats for all alike. The mean
# distance says how far. With both, heads can be sorted without looking at a single map.

# %%
positions = np.arange(len(run.tokens))
distance = np.abs(positions[:, None] - positions)
print("layer  head  entropy (nats)  mean distance (tokens)")
for layer in range(len(run.hidden_states) - 1):
    maps = run.attention(layer)
    logs = np.log(np.where(maps > 0, maps, 1))
    entropy, far = -(maps * logs).sum(-1).mean(-1), (maps * distance).sum(-1).mean(-1)
    head = int(entropy.argmin())
    print(f"{layer:5}{head:6}{entropy[head]:16.2f}{far[head]:24.1f}")
    assert (entropy <= np.log(len(run.tokens)) + 1e-6).all()

# %% [markdown]
# ## A closer look
#
# The narrowest head of layer 2 for the first sentence alone, where every cell can be read.

# %%
short = model.trace(sentence.strip())
short.figure("attention", layer=2, head=0)

# %% [markdown]
# ## Go on in the dashboard
#
# Start it with `inside-bert`; the map above stands at
# [localhost:8501/attention](http://localhost:8501/attention?model=all-MiniLM-L6-v2&layer=2&head=0&text=The+old+python+sleeps+near+the+river%2C+and+nobody+wants+to+wake+it+before+dawn.).
# Paste the long text there: the overview of all heads opens within a second or two, and every cell can be reached.
