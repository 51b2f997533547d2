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
# # Which heads and words matter
#
# A map of attention describes; it does not explain. To learn what a number of the model depends on, something is changed
# on purpose and the number is measured again. The number here is the cosine of two sentences, which every encoder has;
# a class, a word at a mask or an answer can take its place where the model has the head for it.

# %%
import numpy as np
import plotly.io as pio

from bertviz_core import open_model

# Figures as plotly's own type for Jupyter, and as HTML for `jupyter nbconvert --to html`: that file opens offline.
pio.renderers.default = "plotly_mimetype+notebook"

model = open_model("all-MiniLM-L6-v2")
one, other = "The bank raised its interest rates.", "We sat on the bank of the river."

# %% [markdown]
# ## Every head is taken away once
#
# The effect of a head is the number without the head minus the number with it. Setting what the head adds to zero is one
# way to take it away; setting it to its mean over other sentences is another, and leaves what it adds to every sentence.

# %%
zero = model.effects(one, other, kind="zero")
mean = model.effects(one, other, kind="mean")
print(f"cosine with all heads: {zero.clean:.4f}")
zero.figure()

# %%
difference = np.abs(zero.heads - mean.heads)
layer, head = np.unravel_index(difference.argmax(), difference.shape)
print(
    f"The two disagree most about head {head} of layer {layer}: {zero.heads[layer, head]:+.4f} at zero, "
    f"{mean.heads[layer, head]:+.4f} at its mean."
)
assert zero.clean == mean.clean
print(f"Correlation over all heads: {np.corrcoef(zero.heads.ravel(), mean.heads.ravel())[0, 1]:.2f}")

# %% [markdown]
# ## A clear map may mislead
#
# The head with the largest effect, and its map. Then a head whose map is at least as clear but whose effect is close to
# nothing. How sharp a map looks says little about whether the head matters.

# %%
run = model.trace(one)
layer, head = np.unravel_index(np.abs(zero.heads).argmax(), zero.heads.shape)
print(f"Largest effect: layer {layer}, head {head}, {zero.heads[layer, head]:+.4f}")
run.figure("attention", layer=int(layer), head=int(head))

# %%
sharp = np.stack([run.attention(number).max(-1).mean(-1) for number in range(len(zero.heads))])
calm = np.where(np.abs(zero.heads) < np.median(np.abs(zero.heads)), sharp, 0)
layer, head = np.unravel_index(calm.argmax(), calm.shape)
print(f"A clear map, a small effect: layer {layer}, head {head}, {zero.heads[layer, head]:+.4f}")
run.figure("attention", layer=int(layer), head=int(head))

# %% [markdown]
# ## Which words?
#
# Each word of the first sentence is replaced by the mask, one at a time, and the cosine is measured again. This is exact:
# what is shown is a difference of two measured numbers.

# %%
words = model.words(one, other)
words.figure()

# %%
strongest = words.words[int(np.abs(words.shares).argmax())]
print(f"The cosine depends most on {strongest!r}.")
words

# %% [markdown]
# Integrated gradients answer the same question along a path from nothing to the text. Their parts should add up to the
# whole; how far they miss it is told with them, and is the first thing to look at.

# %%
gradients = model.words(one, other, method="integrated-gradients")
print(gradients)

# %% [markdown]
# ## Which words make the two alike?
#
# The cosine can also be split over pairs of words, one of each sentence. The cells, together with what is left at the
# reference, add up to the cosine.

# %%
model.figure("word-pairs", one, pair=other)

# %% [markdown]
# ## Go on in the dashboard
#
# Start it with `inside-bert`; the map of effects stands at
# [localhost:8501/causes](http://localhost:8501/causes?model=all-MiniLM-L6-v2&text=The+bank+raised+its+interest+rates.&pair=We+sat+on+the+bank+of+the+river.),
# the words at
# [localhost:8501/words](http://localhost:8501/words?model=all-MiniLM-L6-v2&text=The+bank+raised+its+interest+rates.&pair=We+sat+on+the+bank+of+the+river.),
# and the lesson *Which heads and words matter* goes through both in eight steps.
