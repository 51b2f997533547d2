"""Decompose the cosine of two texts into a sum over pairs of their tokens and reference terms.

With f the sentence vector of length 1, a and b the hidden states of two texts at a layer, r_a and r_b those of the
texts with every word masked, and J the mean Jacobian of f on the straight path from reference to text (Moeller et al.
2023, equation 6):

    f(a)f(b) - f(a)f(r_b) - f(r_a)f(b) + f(r_a)f(r_b) = sum over tokens i, j of (J_a (a - r_a)_i) . (J_b (b - r_b)_j)

J is never built: the contribution of a token is a directional derivative in forward mode, so that a text of n tokens
takes n rows per node of the quadrature, besides one run of the node itself.
"""

from collections.abc import Mapping
from time import perf_counter

import numpy as np
from jaxtyping import Float

from bertviz_core.attribution.gradients import clenshaw_curtis, refined
from bertviz_core.attribution.results import PairAttributions
from bertviz_core.attribution.words import reference_id, text_units
from bertviz_core.errors import Progress, SupersededError, TextError, UnsupportedModelError, no_progress
from bertviz_core.interventions.hooks import Intervention, intervening
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.targets import cosine_target
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.masked_lm import masked_row
from bertviz_core.sentences.encoding import plan_vectors, prompt_tokens
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import MAX_BATCH_BYTES
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import model_inputs

FIRST_INTERVALS, MOST_INTERVALS = 8, 128
LEAST_NODES = 2 * FIRST_INTERVALS + 1
"""Minimum number of nodes, since the intervals are doubled at least once."""
CHEAP_ROWS = 16_384
"""Number of rows (tokens of all nodes of both texts) up to which more than MOST_INTERVALS intervals are tried."""
TOLERANCE = 1e-5
"""Accepted error of the sum, as a cosine."""
SHARE_TOLERANCE = 1e-2
"""Accepted change of a share in the last doubling, relative to the largest share."""
TANGENTS = 3
"""Memory of a run with derivatives, as a multiple of that of a run without."""
PARTS = 4
"""Minimum number of batches per text, so that progress is reported and the work can be cancelled."""


def pair_attributions(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    text: str,
    pair: str,
    plan: SentencePlan,
    layer: int = 0,
    progress: Progress = no_progress,
    max_batch_bytes: int = MAX_BATCH_BYTES,
) -> PairAttributions:
    """Compute the contribution of every pair of tokens to the cosine of two texts.

    With the reference terms, the contributions sum to the cosine. The error of the sum may be small by chance, so the
    intervals are doubled until it is at most TOLERANCE and no share has changed by more than SHARE_TOLERANCE of the
    largest; a notice reports if this is not reached.

    Args:
        layer: entry of the hidden states to attribute the cosine to; 0 is the embedding output.
    """
    started = perf_counter()
    if not loaded.num_hidden_layers:
        raise UnsupportedModelError(
            f"{family(loaded.model_type).no_maps} What each pair of tokens adds to a cosine is exact there: see the "
            "page Sentences, view Token contributions."
        )
    if not 0 <= layer < loaded.num_hidden_layers:
        raise TextError(
            f"There is no layer {layer} of {loaded.name!r} to start from; the last is {loaded.num_hidden_layers - 1}."
        )
    ways = [
        _Way(loaded, tokenizer, one, other, plan, layer, max_batch_bytes) for one, other in ((text, pair), (pair, text))
    ]
    first, second = ways
    cosine, terms = (
        float(first.end @ second.end),
        [float(first.end @ second.start), float(first.start @ second.end), float(first.start @ second.start)],
    )
    intervals, shares = FIRST_INTERVALS, _products(ways, FIRST_INTERVALS, progress)
    notices: tuple[str, ...] = ()
    tokens = len(first.runs.target.tokens) + len(second.runs.target.tokens)
    while True:
        intervals, before = 2 * intervals, shares
        shares = _products(ways, intervals, progress)
        error = abs(float(shares.sum()) + terms[0] + terms[1] - terms[2] - cosine)
        changes = np.abs(shares - before)
        if error <= TOLERANCE and changes.max() <= max(SHARE_TOLERANCE * np.abs(shares).max(), TOLERANCE):
            break
        if intervals >= MOST_INTERVALS and 2 * intervals * tokens > CHEAP_ROWS:
            notices = (
                f"After {intervals + 1} nodes the sum still misses the cosine by {error:.2g}, and a share has changed "
                f"by {changes.max():.2g}; start from a later layer.",
            )
            break
    shares, changes = shares.astype(np.float32), changes.astype(np.float32)
    return PairAttributions(
        model=loaded.name,
        layer=layer,
        first=first.runs.target.tokens,
        second=second.runs.target.tokens,
        shares=shares,
        first_reference=terms[0],
        second_reference=terms[1],
        both_references=terms[2],
        cosine=cosine,
        error=error,
        share_errors=changes,
        nodes=intervals + 1,
        seconds=perf_counter() - started,
        notices=tuple(dict.fromkeys((*first.runs.target.notices, *second.runs.target.notices, *notices))),
    )


def _products(ways: "list[_Way]", intervals: int, progress: Progress) -> Float[np.ndarray, "first second"]:
    """Compute the shares of all pairs of tokens with this number of intervals."""
    parts = [way.parts(intervals, progress) for way in ways]
    return np.asarray(parts[0] @ parts[1].T)


class _State(Intervention):
    """Records or replaces the input state of a layer."""

    def __init__(self, layer: int, replacement: "torch.Tensor | None" = None) -> None:
        self._layer, self._replacement = layer, replacement
        self.noted: torch.Tensor | None = None

    def state(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        if layer != self._layer:
            return state
        self.noted = state
        return state if self._replacement is None else self._replacement


class _Way:
    """The straight path between a text's hidden states at a layer and those of its reference."""

    def __init__(
        self,
        loaded: LoadedModel,
        tokenizer: TextTokenizer,
        text: str,
        other: str,
        plan: SentencePlan,
        layer: int,
        max_batch_bytes: int,
    ) -> None:
        self.runs = InterventionRuns(cosine_target(loaded, tokenizer, text, other, plan), max_batch_bytes)
        if not self.runs.parts.layers:
            raise self._refusal("has no module of a whole layer whose input could be followed")
        self._loaded, self._plan, self._layer = loaded, plan, layer
        self._skipped = prompt_tokens(tokenizer, plan)
        tokens = self.runs.target.tokens
        own = [place for unit in text_units(tokens, False) for place in unit.positions]
        reference = masked_row(tokens, own, reference_id(tokenizer))
        self._inputs = model_inputs(loaded, (tokens,))
        states, vectors = [], []
        with RUN_LOCK, torch.no_grad():
            for inputs in (self._inputs, model_inputs(loaded, (reference,))):
                noting = _State(layer)
                vectors.append(self._vectors(noting, inputs)[0].double().cpu().numpy())
                if noting.noted is None:
                    raise self._refusal(f"does not run layer {layer} as a module of its own")
                states.append(noting.noted)
        if not np.isfinite(vectors).all():
            raise TextError(f"The sentence vector of {text[:40]!r} holds NaN or infinity; give another text.")
        self._end, self._start = states
        self._known: Float[np.ndarray, "nodes seq dimensions"] | None = None
        self.end, self.start = vectors

    def parts(self, intervals: int, progress: Progress) -> Float[np.ndarray, "seq dimensions"]:
        """Return the contribution of every token to f(text) - f(reference)."""
        self._known = refined(self._known, intervals, self._at, progress)
        parts: np.ndarray = np.einsum("n,nsd->sd", clenshaw_curtis(intervals)[1], self._known)
        return parts

    def _at(
        self, points: Float[np.ndarray, " points"], progress: Progress
    ) -> Float[np.ndarray, "points seq dimensions"]:
        """Compute the derivative of f along every token's way at points of the path (reference at 0, text at 1)."""
        seq, way, done = len(self.runs.target.tokens), self._end - self._start, 0
        slopes = np.empty((len(points), seq, len(self.end)), np.float32)
        rows = max(1, self.runs.max_nbytes // (TANGENTS * self.runs.row_nbytes))
        point_step, token_step = max(1, min(rows // seq, len(points) // PARTS)), min(rows, seq)
        for start in range(0, len(points), point_step):
            part = slice(start, start + point_step)
            at = torch.tensor(points[part]).to(way)[:, None, None]
            for first in range(0, seq, token_step):
                tokens = torch.arange(first, min(first + token_step, seq), device=way.device)
                directions = torch.zeros(len(tokens), *way.shape).to(way)
                directions[tokens - first, 0, tokens] = way[0, tokens]
                by_token = self._slopes(self._start + at * way, directions)
                slopes[part, first : first + token_step] = by_token.swapaxes(0, 1)
                done += len(tokens) * len(at)
                progress(done // seq, len(points))
        return slopes

    def _slopes(
        self, states: "torch.Tensor", directions: "torch.Tensor"
    ) -> Float[np.ndarray, "directions rows dimensions"]:
        """Compute the forward-mode derivative of f in each direction at each row of states."""
        shared = self.runs.shares
        rows = {name: values if shared else values.expand(len(states), -1) for name, values in self._inputs.items()}

        def vectors(state: "torch.Tensor") -> "torch.Tensor":
            return self._vectors(_State(self._layer, state), rows)

        def slope(direction: "torch.Tensor") -> "torch.Tensor":
            found: torch.Tensor = torch.func.jvp(vectors, (states,), (direction.expand_as(states),))[1]
            return found

        # Only the plain attention kernel has a forward derivative.
        with RUN_LOCK, torch.no_grad(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            try:
                slopes = torch.func.vmap(slope)(directions)
            except SupersededError:
                raise
            except (UnsupportedModelError, RuntimeError) as error:
                raise self._refusal("has a step without a forward derivative") from error
            found: np.ndarray = slopes.cpu().numpy()
        return found

    def _vectors(self, intervention: Intervention, inputs: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
        """Compute the normalised sentence vectors of a run; the caller holds RUN_LOCK."""
        runs, loaded, plan = self.runs, self._loaded, self._plan
        with intervening(loaded.model, runs.parts, runs.layers, intervention):
            lengths = [len(runs.target.tokens)]
            vectors = plan_vectors(loaded, plan, inputs, lengths, self._skipped)[:, : plan.truncate_dim]
        return torch.nn.functional.normalize(vectors, dim=1)

    def _refusal(self, why: str) -> UnsupportedModelError:
        return UnsupportedModelError(
            f"{family(self.runs.target.loaded.model_type).title} {why}, so the cosine cannot be shared out between "
            "words here; measure the words by leave-one-out instead."
        )
