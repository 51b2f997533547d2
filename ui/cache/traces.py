"""Traces kept while there is room, so that a click on the same text does not run the model again."""

from collections.abc import Callable

from bertviz_core.errors import SupersededError
from bertviz_core.models.loading import LoadedModel
from bertviz_core.progress import Progress
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import RUN_LOCK, trace_unlocked
from ui.cache.byte_cache import ByteCache

WAIT_S = 0.05
"""How long a waiting run sleeps before it looks whether anyone still wants it."""
Key = tuple[str, str, str, str, str | None, int]


class TraceCache:
    """The most recently used traces up to a budget of bytes; may be used from many threads."""

    def __init__(self, max_nbytes: int) -> None:
        """A cache that holds at most max_nbytes bytes of arrays."""
        self._traces = ByteCache(max_nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of the traces held; never above the budget."""
        return self._traces.nbytes

    def __len__(self) -> int:
        """Count of traces held."""
        return len(self._traces)

    def held(self, loaded: LoadedModel, tokens: Tokens) -> Trace | None:
        """The trace of a model and its tokens if it is at hand."""
        return self._get(_key(loaded, tokens))

    def trace(
        self,
        loaded: LoadedModel,
        tokens: Tokens,
        wanted: Callable[[int], bool] | None = None,
        tell: Progress | None = None,
        expected_nbytes: int = 0,
        most_waiting: int | None = None,
    ) -> Trace:
        """The trace of a model and its tokens: the one at hand, or a new run when its turn has come.

        Several who wait for the same trace get one run. One who is no longer wanted stops waiting and runs nothing.

        Args:
            loaded: the model.
            tokens: the text, by its own tokenizer.
            wanted: whether the caller still wants the trace; asked while it waits, with the number of runs ahead of
                its own. What it raises ends the wait.
            tell: as in bertviz_core.trace.run.trace.
            expected_nbytes: about what the trace will take; older ones make room for it before the run.
            most_waiting: how many may wait for their turn; None for any number.

        Raises:
            BusyError: so many wait already.
            SupersededError: the caller no longer wants it.
            BertvizError: as bertviz_core.trace.run.trace.
        """
        key = _key(loaded, tokens)
        held = self._get(key)
        if held is not None:
            return held
        with RUN_LOCK.place(most_waiting) as place:
            its_turn = False
            while held is None:
                if wanted is not None and not wanted(place.ahead):
                    raise SupersededError
                if its_turn:
                    self._traces.make_room(expected_nbytes)
                    held = trace_unlocked(loaded, tokens, tell)
                    self._put(key, held)
                else:
                    its_turn = place.wait(WAIT_S)
                    held = self._get(key)
        return held

    def _get(self, key: Key) -> Trace | None:
        trace: Trace | None = self._traces.get(key)
        return trace

    def _put(self, key: Key, trace: Trace) -> None:
        """Keep a trace; one larger than the whole budget is not kept."""
        if trace.nbytes <= self._traces.max_nbytes:
            self._traces.put(key, trace, trace.nbytes)


def _key(loaded: LoadedModel, tokens: Tokens) -> Key:
    return loaded.name, loaded.revision, loaded.dtype, tokens.text, tokens.pair, len(tokens)
