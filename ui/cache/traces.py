"""Cache traces, so that a click does not run the model again on the same text."""

from collections.abc import Callable
from threading import Timer

from bertviz_core.errors import Progress, SupersededError
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import RecordingCheck
from bertviz_core.resources import ByteCache
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import RUN_LOCK, trace_unlocked
from bertviz_core.trace.verification import check_recording, may_wait
from ui.cache.memoize import logged

WAIT_S = 0.05
"""Seconds between two checks whether a waiting run is still needed."""
CHECK_AFTER_S = 2.0
"""Seconds until recorded attention is compared with the model's own, so that the first page does not wait for it."""
Key = tuple[str, str, str, str, str, str | None, bytes]


class TraceCache:
    """The most recently used traces up to a budget of bytes; thread-safe."""

    def __init__(self, max_nbytes: int) -> None:
        """Create a cache of at most max_nbytes bytes of arrays."""
        self._traces = ByteCache(max_nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of all cached traces; never above the budget."""
        return self._traces.nbytes

    def __len__(self) -> int:
        """Number of cached traces."""
        return len(self._traces)

    def cached(self, loaded: LoadedModel, tokens: Tokens) -> Trace | None:
        """The cached trace of a model and its tokens; None where there is none."""
        return self._get(_key(loaded, tokens))

    def trace(
        self,
        loaded: LoadedModel,
        tokens: Tokens,
        is_needed: Callable[[int], bool] | None = None,
        progress: Progress | None = None,
        expected_nbytes: int = 0,
        most_waiting: int | None = None,
    ) -> Trace:
        """Return the cached trace of a model and its tokens, or run the model when it is free.

        Callers that wait for the same trace share one run. A caller that no longer wants the trace stops waiting.

        Args:
            loaded: the model.
            tokens: the tokens of the text.
            is_needed: returns whether the caller still wants the trace; called with the number of runs ahead while
                waiting. An exception that it raises ends the wait.
            progress: called with the number of layers done and their total.
            expected_nbytes: estimated bytes of the trace; older traces are dropped to make room before the run.
            most_waiting: most callers that may wait; None for no limit.

        Raises:
            BusyError: too many callers are waiting already.
            SupersededError: the caller no longer wants the trace.
            BertvizError: the model cannot be run on these tokens.
        """
        result = self._get(_key(loaded, tokens))
        if result is not None:
            return result
        with RUN_LOCK.place(most_waiting) as place:
            its_turn = False
            while result is None:
                if is_needed is not None and not is_needed(place.ahead):
                    raise SupersededError
                if its_turn:
                    self._traces.make_room(expected_nbytes)
                    with logged("run", "trace", lambda: {"model": loaded.name, "tokens": len(tokens)}):
                        result = trace_unlocked(loaded, tokens, progress, check_later=True)
                    self._put(_key(loaded, tokens), result)
                    _check_soon(loaded)
                else:
                    its_turn = place.wait(WAIT_S)
                    result = self._get(_key(loaded, tokens))
        return result

    def _get(self, key: Key) -> Trace | None:
        trace: Trace | None = self._traces.get(key)
        return trace

    def _put(self, key: Key, trace: Trace) -> None:
        """Cache a trace, unless it is larger than the whole budget."""
        if trace.nbytes <= self._traces.max_nbytes:
            self._traces.put(key, trace, trace.nbytes)


def _key(loaded: LoadedModel, tokens: Tokens) -> Key:
    source = loaded.attention_source  # a model that failed its comparison is run again
    return loaded.name, loaded.revision, loaded.dtype, source, tokens.text, tokens.pair, tokens.input_ids.tobytes()


def _check_soon(loaded: LoadedModel) -> None:
    """Schedule the comparison of a model's recorded attention with its own, unless it has been made."""
    if may_wait(loaded) and loaded.recording_check is None:
        timer = Timer(CHECK_AFTER_S, checked, (loaded,))
        timer.daemon = True
        timer.start()


def checked(loaded: LoadedModel) -> RecordingCheck | None:
    """Return the result of the comparison, made now if needed; None for a model that failed it."""
    if loaded.attention_source == "recorded" and loaded.recording_check is None:
        with RUN_LOCK:
            check_recording(loaded)
    return loaded.recording_check
