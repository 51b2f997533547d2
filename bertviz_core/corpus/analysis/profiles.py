"""Compute mean and spread of every head's measures over a sample of a corpus."""

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.measures import PROFILE_MEASURES, head_profile
from bertviz_core.corpus.analysis.column_groups import column_values
from bertviz_core.corpus.analysis.results import HeadProfile, HeadProfiles
from bertviz_core.corpus.analysis.row_samples import sampled_rows, texts_of
from bertviz_core.corpus.folder import Corpus
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.models.loading import LoadedModel
from bertviz_core.text import counted, quoted
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

SENTENCES = 200
"""Number of sampled sentences, enough for a stable mean."""
MAX_SENTENCES = 5_000


def head_profiles(
    corpus: Corpus,
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    sentences: int = SENTENCES,
    column: str = "",
    seed: int = 0,
    progress: Progress | None = None,
) -> HeadProfiles:
    """Compute mean and standard deviation of every measure of every head over sampled sentences and parts of them.

    Each sentence is traced separately and has equal weight; its measures (bertviz_core.attention.measures.head_profile)
    are accumulated in float64 (Welford 1962), so that memory does not grow with the number of sentences.

    Args:
        corpus: corpus with the texts.
        loaded: any model with attention, not necessarily that of the corpus.
        tokenizer: tokenizer of the model.
        sentences: number of sampled sentences.
        column: column with the most frequent values as parts; "" for none.
        seed: seed of the sample.
        progress: called as progress(sentences done, sentences); may raise to cancel.

    Raises:
        CorpusError: the corpus stores no texts, the sample has none, or there is no such column.
        UnsupportedModelError: the attention of this model cannot be recorded.
    """
    if not 1 <= sentences <= MAX_SENTENCES:
        raise CorpusError(f"A sample of {sentences:,} sentences was requested; give 1 to {MAX_SENTENCES:,}.")
    rows = sampled_rows(corpus.rows, sentences, seed)
    texts = texts_of(corpus, rows)
    values = column_values(corpus.column(column)) if column else None
    overall = _Running("")
    parts = [_Running(name) for name in values.names] if values is not None else []
    read, cut = [], 0
    for done, (row, text) in enumerate(zip(rows.tolist(), texts, strict=True), start=1):
        if text.strip():
            tokens = tokenize(tokenizer, text)
            cut += tokens.tokens_cut[0] > 0
            profile = head_profile(trace(loaded, tokens))
            overall.add(profile)
            if values is not None:
                parts[values.codes[row]].add(profile)
            read.append(row)
        if progress is not None:
            progress(done, len(rows))
    if not read:
        raise CorpusError(
            f"None of the {counted(len(rows), 'row')} sampled from {quoted(corpus.path.name)} has a text."
        )
    notices = list(loaded.notices)
    if missing := len(rows) - len(read):
        notices.append(f"{counted(missing, 'row')} without a text left out.")
    if cut:
        notices.append(f"{counted(cut, 'text')} cut off at the {tokenizer.cut_side}: {tokenizer.limit.reason}.")
    return HeadProfiles(
        corpus=corpus.path.name,
        model=loaded.name,
        revision=loaded.revision,
        measures=PROFILE_MEASURES,
        overall=overall.profile(),
        column=column,
        parts=tuple(part.profile() for part in parts if part.count),
        rows=np.array(read, dtype=np.int64),
        seed=seed,
        notices=tuple(notices),
    )


class _Running:
    """Running mean and standard deviation over sentences."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0
        self._mean: np.ndarray = np.zeros(())
        self._squares: np.ndarray = np.zeros(())  # sum of squared deviations from the mean

    def add(self, numbers: Float[np.ndarray, "measures layers heads"]) -> None:
        """Add one sentence's measures."""
        self.count += 1
        distance = numbers.astype(np.float64) - self._mean
        self._mean = self._mean + distance / self.count
        self._squares = self._squares + distance * (numbers - self._mean)

    def profile(self) -> HeadProfile:
        """Return the profile of all sentences so far."""
        spread = np.sqrt(self._squares / self.count)
        return HeadProfile(self.name, self.count, self._mean.astype(np.float32), spread.astype(np.float32))
