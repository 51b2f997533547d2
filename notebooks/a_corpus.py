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
# # A corpus: from a file of texts to an answer
#
# One command turns a file of texts into a corpus folder: the texts, their columns, one vector each, and a manifest that
# says which model made them. Here a small file with four topics stands for millions of rows; the commands are the same,
# memory does not grow with the rows, and a run that was ended goes on where it stopped.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.io as pio

from bertviz_core import open_corpus

# Figures as plotly's own type for Jupyter, and as HTML for `jupyter nbconvert --to html`: that file opens offline.
pio.renderers.default = "plotly_mimetype+notebook"

# %% [markdown]
# ## The texts

# %%
TOPICS = {
    "weather": [
        "It rained all night.",
        "A storm came from the sea.",
        "The sun shone on the snow.",
        "Fog lay in the valley.",
    ],
    "cooking": ["Stir the soup slowly.", "The bread is in the oven.", "Add salt to the water.", "She fried an egg."],
    "music": ["The choir sang a song.", "He tuned his violin.", "The drummer lost the beat.", "A piano stood there."],
    "money": ["The bank raised its rates.", "He paid his debts.", "Prices fell in March.", "She opened an account."],
}
texts = pd.DataFrame([{"topic": topic, "text": text} for topic, all_of in TOPICS.items() for text in all_of])
folder = Path(tempfile.mkdtemp())
texts.to_csv(folder / "texts.csv", index=False)
texts.groupby("topic").first()

# %% [markdown]
# ## From texts to vectors
#
# In a terminal the command is `inside-bert corpus embed all-MiniLM-L6-v2 texts.csv -o corpus`.

# %%
command = ["corpus", "embed", "all-MiniLM-L6-v2", str(folder / "texts.csv"), "-o", str(folder / "corpus")]
done = subprocess.run([sys.executable, "-m", "bertviz_core", *command], check=True, capture_output=True, text=True)

corpus = open_corpus(folder / "corpus")
corpus

# %%
print(corpus.rows, "rows,", corpus.vectors.shape[1], "numbers each, made by", corpus.model)
assert corpus.vectors.shape == (len(texts), 384)

# %% [markdown]
# ## Search
#
# The query gets a vector from the same model, and is compared with every row. Nothing is left out, so the first hit is
# the nearest there is.

# %%
hits = corpus.search("bad weather at sea", k=5)
hits.figure()

# %%
found = hits.to_pandas()
assert found.score.is_monotonic_decreasing
found

# %% [markdown]
# With `where` only the rows with a certain value of a column are searched.

# %%
corpus.search("bad weather at sea", k=3, where="topic=money")

# %% [markdown]
# ## A map of all rows
#
# The first two principal components of all vectors. They hold a part of the variance, and the figure says how large it
# is: what lies apart is apart, what lies together may still differ in the rest.

# %%
corpus.figure("corpus-map", coloured="topic")

# %% [markdown]
# ## Are the topics in the vectors?
#
# For every row the nearest other row: how often does it have the same topic?

# %%
vectors = np.asarray(corpus.vectors, dtype=np.float32)
cosines = vectors @ vectors.T
np.fill_diagonal(cosines, -1)
same = texts.topic.to_numpy()[cosines.argmax(axis=1)] == texts.topic.to_numpy()
print(f"{same.sum()} of {len(texts)} nearest neighbours have the same topic.")

# %% [markdown]
# ## Go on in the dashboard
#
# Start it with `INSIDE_BERT_CORPORA_DIR` set to the folder that holds your corpora, then open
# [localhost:8501/corpus](http://localhost:8501/corpus?view=Map): search, map, near duplicates, clusters, heads over the
# corpus and probes by layer.
