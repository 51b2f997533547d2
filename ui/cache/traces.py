"""Traces kept while there is room, so that a click on the same text does not run the model again."""

from collections.abc import Callable
from threading import Timer

from bertviz_core.errors import Progress, SupersededError
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import RecordingCheck
from bertviz_core.questions.byte_cache import ByteCache
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import RUN_LOCK, trace_unlocked
from bertviz_core.trace.verification import check_recording, may_wait

WAIT_S = 0.05
"""How long a waiting run sleeps before it looks whether anyone still wants it."""
CHECK_AFTER_S = 2.0
"""When a model is compared with its own attention whose first run did not wait for that: its page stands by then."""
Key = tuple[str, str, str, str, str, str | None, int]


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
        progress: Progress | None = None,
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
            progress: as in bertviz_core.trace.run.trace.
            expected_nbytes: about what the trace will take; older ones make room for it before the run.
            most_waiting: how many may wait for their turn; None for any number.

        Raises:
            BusyError: so many wait already.
            SupersededError: the caller no longer wants it.
            BertvizError: as bertviz_core.trace.run.trace.
        """
        held = self._get(_key(loaded, tokens))
        if held is not None:
            return held
        with RUN_LOCK.place(most_waiting) as place:
            its_turn = False
            while held is None:
                if wanted is not None and not wanted(place.ahead):
                    raise SupersededError
                if its_turn:
                    self._traces.make_room(expected_nbytes)
                    held = trace_unlocked(loaded, tokens, progress, check_later=True)
                    self._put(_key(loaded, tokens), held)
                    _check_soon(loaded)
                else:
                    its_turn = place.wait(WAIT_S)
                    held = self._get(_key(loaded, tokens))
        return held

    def _get(self, key: Key) -> Trace | None:
        trace: Trace | None = self._traces.get(key)
        return trace

    def _put(self, key: Key, trace: Trace) -> None:
        """Keep a trace; one larger than the whole budget is not kept."""
        if trace.nbytes <= self._traces.max_nbytes:
            self._traces.put(key, trace, trace.nbytes)


def _key(loaded: LoadedModel, tokens: Tokens) -> Key:
    source = loaded.attention_source  # a model that failed its comparison is run anew
    return loaded.name, loaded.revision, loaded.dtype, source, tokens.text, tokens.pair, len(tokens)


def _check_soon(loaded: LoadedModel) -> None:
    """Compare a model's recorded attention with its own in a while, if that was not done."""
    if may_wait(loaded) and loaded.recording_check is None:
        timer = Timer(CHECK_AFTER_S, checked, (loaded,))
        timer.daemon = True
        timer.start()


def checked(loaded: LoadedModel) -> RecordingCheck | None:
    """What the comparison of a model gave, made now if it was not made; None for a model that failed it."""
    if loaded.attention_source == "recorded" and loaded.recording_check is None:
        with RUN_LOCK:
            check_recording(loaded)
    return loaded.recording_check
