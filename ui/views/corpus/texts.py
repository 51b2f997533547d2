"""Texts of the page on corpora."""

from collections.abc import Mapping

from bertviz_core.corpus.analysis.results import DuplicateGroups
from bertviz_core.sentences.results import MapMethod

NONE_YET = (
    "There is no corpus of yours here yet, so this is an **example**: the 220 labelled sentences that come with this "
    "dashboard. `python -m bertviz_core corpus embed MODEL INPUT -o FOLDER` makes one from a table of texts; this page "
    "lists those in the folder that the setting INSIDE_BERT_CORPORA_DIR names."
)
ABOUT = (
    "A corpus is a folder: Parquet shards with the input's own columns, the texts and a vector for each, beside a "
    "manifest that says which model made the vectors and how. The file of all vectors, in the order of the rows, is "
    "read as a map of memory, so that nothing of it is loaded before it is looked at. The page reads; it never writes "
    "into the folder."
)


MAPS: Mapping[MapMethod, str] = {
    "pca": (
        "Principal component analysis of all rows: their covariance is summed block by block in float64, its two "
        "leading directions are the axes, and every row is projected on them. Points far apart are far apart in the "
        "model too; points close together need not be where the two axes hold little of the variance. "
    ),
    "umap": (
        "UMAP links rows to their nearest by the cosine and looks for points of the plane with the same links (McInnes "
        "et al. 2018). It is fitted on a sample; the other rows are placed among it. Who is whose neighbour can be "
        "read from it; distances between groups, their sizes and the axes cannot. "
    ),
}
SHADING = (
    "The server counts the rows in each cell of the part that is looked at; the shade follows the logarithm of the "
    "count, the colour the value that most rows of a cell have."
)


SEARCH = (
    "The query becomes a vector as the corpus' texts did: by the same weights (their SHA-256 is compared), pooling, "
    "layer and prompt. Its cosine with every row's vector is computed, and the largest are listed; of equal ones the "
    "first row comes first. Where this machine has an index of the corpus, it is searched instead, and the rows that "
    "it returns are compared exactly; with a filter every row that is left is compared."
)
DUPLICATES = (
    "Every row's vector is compared with every other's, block by block; pairs whose cosine reaches the threshold are "
    "edges of a graph, and its connected components are the groups. So two rows of a group may be less alike than the "
    "threshold where others join them. Alike means alike to this model: a negation or a number may be all that differs."
)
CLUSTERS = (
    "On vectors of unit length: k-means looks for so many centres that the squared distances to the nearest are small; "
    "HDBSCAN (Campello et al. 2013) for dense regions, and leaves out what lies between them. Of many rows a sample is "
    "clustered, and the others go to the nearest centre. Typical rows have the largest cosine with the cluster's mean "
    "direction. Another seed, method or count draws other borders: clusters are a way of looking, not a finding."
)
HEADS = (
    "A sample of the texts, drawn by a fixed seed, is run one by one through the model that is chosen on the left. For "
    "each head a measure is averaged over the queries of a text, then over the texts; every text counts alike. Entropy "
    "in nats: 0 for a head that looks at one token. Distance in tokens. Shares of a row: on the first token ([CLS]), "
    "on the other special tokens ([SEP]), on the token before, the one after, and itself (Clark et al. 2019)."
)
PROBES = (
    "A sample of the rows that have a label is run once through the model that is chosen on the left, for all layers. "
    "On each layer multinomial logistic regression is fitted on four fifths of the texts and tried on the fifth that "
    "it has not seen, five times over, and once more with shuffled labels: the *control task* (Hewitt and Liang 2019). "
    "The long-dashed line is always naming the most frequent class. What a probe can read is in the vector; whether "
    "the model uses it, it does not say."
)
RUN_ANEW = ("Heads", "Probes")
"""Views that run the texts through the chosen model; all others use the vectors of the corpus."""
SIDEBAR = f"Used by {' and '.join(RUN_ANEW)}; the other views show what the corpus' own model made."
"""Caption below the model on this page."""
OTHER_MODEL = "The texts are run through {name}, the model chosen on the left; the corpus' vectors play no part here."


def no_duplicates(groups: DuplicateGroups, lower: bool) -> str:
    """The message if no rows are near duplicates.

    Args:
        groups: the empty result.
        lower: whether a lower threshold can be chosen.
    """
    if groups.searched < 2:
        return f"Near duplicates need at least two rows, and this corpus has {groups.searched} to compare."
    advice = " Choose a lower cosine to find rows that are less alike." if lower else ""
    return f"No two of the {groups.searched:,} rows have a cosine of at least {groups.threshold:g}.{advice}"
