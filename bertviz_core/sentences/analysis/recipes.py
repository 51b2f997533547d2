"""Name the recipe that makes sentence vectors which were computed elsewhere.

A recipe is what a program decides between a text and its vector (`VectorRecipe`). Everything behind the hidden states
is compared on the same run; a run is repeated only where tokens or padding differ, on a few of the texts, and the
nearest of these then on all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.analysis.results import (
    Lengths,
    Padding,
    RecipeMatch,
    TokenizerName,
    VectorExplanation,
    VectorRecipe,
)
from bertviz_core.sentences.encoding import (
    SentenceRow,
    batches,
    converted_model,
    limited,
    model_states,
    prompt_tokens,
    tokenized,
)
from bertviz_core.sentences.pooling import applied, pooled
from bertviz_core.sentences.results import Pooling, SentenceDtype, SentencePlan
from bertviz_core.text import counted
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import check_recording, model_inputs, pooler_output

PROBE_TEXTS, BATCH_TEXTS = 6, 32
"""Texts on which every tokenization is tried; texts that sentence-transformers pads together, the longest first."""
FINALISTS, LISTED = 3, 12
"""Inputs that are compared on all texts, and most recipes of a result."""
LEAST_CUT, MOST_CUTS = 3, 256
"""Least unusual length that is tried, and most of them."""
EXACT, NEAR, HALF, QUANTIZED = 1e-6, 1e-4, 2e-3, 5e-3
"""Largest 1 - cosine that is explained by the order of sums, by 16 bits of the vectors, by a run in 16 bits, and by
vectors of whole numbers."""
SAME_LENGTH = 1e-2
"""Relative difference of lengths that are taken for equal: numbers may have 8 significant bits."""
USUAL_LENGTHS = (64, 128, 256, 384, 512, 1024, 2048, 4096, 8192)
TOKEN_POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens")
HALF_DTYPES: tuple[SentenceDtype, ...] = ("bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Input:
    """The part of a recipe that decides what the model reads."""

    tokenizer: TokenizerName
    prompt: str
    max_length: int | None
    lower_case: bool
    padding: Padding = "none"


@dataclass(frozen=True, slots=True)
class Output:
    """The part of a recipe that makes a vector of the hidden states, apart from its length."""

    layer: int
    pooling: Pooling
    dense: int = 0
    include_prompt: bool = True
    include_padding: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """The vectors of a recipe beside those from outside, one number for each text."""

    cosines: Float[np.ndarray, " texts"]
    lengths: Float[np.ndarray, " texts"]
    """Lengths of its vectors after they are cut to the dimensions of the others."""
    whole: Float[np.ndarray, " texts"]
    """Their lengths before."""
    dimensions: int
    """Their dimensions before."""

    @property
    def errors(self) -> Float[np.ndarray, " texts"]:
        """1 - cosine."""
        errors: Float[np.ndarray, " texts"] = 1 - self.cosines
        return errors


@dataclass(slots=True, eq=False)
class Search:
    """The vectors from outside, and the model that may have made them."""

    loaded: LoadedModel
    plan: SentencePlan
    tokenizers: Mapping[TokenizerName, TextTokenizer]
    texts: Sequence[str]
    vectors: Float[np.ndarray, "texts dimensions"]
    prompts: Sequence[str]
    recipes: int = 0
    runs: int = 0
    counts: dict[Input, list[int]] = field(default_factory=dict)
    """Number of tokens of every text, by input without padding."""

    @property
    def own_input(self) -> Input:
        """The model's input by its folder."""
        return Input(next(iter(self.tokenizers)), self.plan.prompt, self.plan.max_seq_length, self.plan.lower_case)

    @property
    def own_output(self) -> Output:
        """The vector by the model's folder."""
        plan, last = self.plan, self.loaded.num_hidden_layers
        layer = last if plan.layer is None else plan.layer
        return Output(layer, plan.pooling, len(plan.dense), plan.include_prompt or not plan.prompt)

    def plan_of(self, read: Input) -> SentencePlan:
        """The folder's plan for another input."""
        return replace(self.plan, prompt=read.prompt, max_seq_length=read.max_length, lower_case=read.lower_case)

    def rows(self, read: Input, places: Sequence[int]) -> list[SentenceRow]:
        """Tokens of the texts at some places."""
        texts, plan = [self.texts[place] for place in places], self.plan_of(read)
        return [row for chunk in tokenized(self.tokenizers[read.tokenizer], texts, plan) for row in chunk]

    def prompt_tokens(self, read: Input) -> int:
        """Number of tokens of the prompt, with the special one in front."""
        return prompt_tokens(self.tokenizers[read.tokenizer], replace(self.plan_of(read), include_prompt=False))

    def limit(self, read: Input) -> int | None:
        """Most tokens of a text."""
        return limited(self.tokenizers[read.tokenizer], self.plan_of(read)).limit.tokens

    def distance(self, read: Input) -> tuple[int, bool]:
        """In how many fields an input differs from the model's own, and whether in the case, the least usual cause."""
        own = self.own_input
        count = sum(getattr(read, each.name) != getattr(own, each.name) for each in fields(read))
        return count, read.lower_case != own.lower_case


def explain_vectors(
    loaded: LoadedModel,
    plan: SentencePlan,
    tokenizers: Mapping[TokenizerName, TextTokenizer],
    texts: Sequence[str],
    vectors: Float[np.ndarray, "texts dimensions"],
    prompts: Sequence[str] = (),
    progress: Progress | None = None,
) -> VectorExplanation:
    """Search for the recipe that makes these vectors of these texts.

    Args:
        plan: the recipe of the model's folder (`plan.recommended`).
        tokenizers: the model's own first; that of tokenizer.json beside it where it reads texts otherwise.
        texts: the texts, one for each vector.
        vectors: the vectors, finite and none of zeros.
        prompts: prompts to try beside none, those of the folder, and those of the model's family where it has none.
        progress: called with inputs tried and their number; may raise to cancel.
    """
    check_vectors(texts, vectors)
    family = () if plan.convention is None else (plan.convention.query, plan.convention.document)
    every_prompt = tuple(dict.fromkeys((plan.prompt, "", *(plan.prompts or {}).values(), *family, *prompts)))
    search = Search(loaded, plan, tokenizers, texts, vectors.astype(np.float64), every_prompt)
    with RUN_LOCK:
        check_recording(loaded)
    finalists, everything = _nearest_inputs(search, progress or _nothing), range(len(texts))
    finalists += _cut_inputs(search, finalists[0])
    every = [match for read in finalists for match in _matches(search, read, _agreements(search, read, everything))]
    matches = [match for match in every if _tells(match, plan)]
    best = _of_formats(search, _without_idle_padding(sorted(matches, key=_order)))
    own = _agreements(search, search.own_input, everything).get(search.own_output)
    return VectorExplanation(
        model=loaded.name,
        revision=loaded.revision,
        texts=len(texts),
        dimensions=vectors.shape[1],
        reproduced=_explains(best[0], vectors),
        matches=tuple(best[:LISTED]),
        equal=tuple(each for each in best[1:LISTED] if best[0].worst_cosine >= 1 - EXACT <= each.worst_cosine),
        own=None if own is None else _match(search, search.own_input, search.own_output, own),
        from_checkpoint=plan.from_checkpoint,
        recipes=search.recipes,
        runs=search.runs,
    )


def check_vectors(texts: Sequence[str], vectors: np.ndarray) -> None:
    """Refuse vectors that cannot be compared, in one sentence."""
    rows = len(vectors) if vectors.size else 0
    if not rows or len(texts) != rows:
        raise TextError(
            f"There are {counted(len(texts), 'text')} and {counted(rows, 'vector')}; give one vector for each text, in "
            "the same order."
        )
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise TextError(f"The vectors have the shape {vectors.shape}; give one row of numbers for each text.")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise TextError(f"Vector {int(np.argmin(finite)) + 1:,} has NaN or infinity; leave it and its text out.")
    zero = ~vectors.any(axis=1)
    if zero.any():
        raise TextError(f"Vector {int(np.argmax(zero)) + 1:,} is all zeros, which has no direction; leave it out.")


def _nothing(done: int, total: int) -> None:
    """Ignore the progress."""


def _nearest_inputs(search: Search, progress: Progress) -> list[Input]:
    """The inputs with the nearest vectors on a few of the texts; those after an exact one are not tried."""
    probe = _probe(search)
    inputs = _inputs(search, probe)
    errors: list[tuple[float, int, Input]] = []
    for done, read in enumerate(inputs):
        progress(done, len(inputs))
        made = _agreements(search, read, probe).values()
        if made:
            errors.append((min(each.errors.mean() for each in made), done, read))
            if min(each.errors.max() for each in made) <= EXACT:
                break
    if not errors:
        raise TextError(
            f"The vectors have {counted(search.vectors.shape[1], 'dimension')}, more than any recipe of "
            f"{search.loaded.name!r} makes: they are of another model."
        )
    progress(len(inputs), len(inputs))
    return [read for _, _, read in sorted(errors, key=lambda each: each[:2])[:FINALISTS]]


def _cut_inputs(search: Search, read: Input) -> list[Input]:
    """The input with an unusual length, if the vectors of the short texts alone are made without one, or of none."""
    agreements = _agreements(search, read, range(len(search.texts)))
    output = max(agreements, key=lambda each: int((agreements[each].errors <= NEAR).sum()))
    reproduced = agreements[output].errors <= NEAR
    counts = np.array([len(row) for row in search.rows(read, range(len(search.texts)))])
    least = int(counts[reproduced].max(initial=LEAST_CUT))
    if reproduced.all() or least >= counts[~reproduced].min():
        return []
    shortest = int(np.flatnonzero(~reproduced)[counts[~reproduced].argmin()])
    for length in range(least, int(counts[shortest]))[-MOST_CUTS:]:
        cut = replace(read, max_length=length)
        made = _agreements(search, cut, [shortest])
        tried = [made[output]] if reproduced.any() else made.values()
        if min(each.errors[0] for each in tried) <= NEAR:
            return [cut]
    return []


def _probe(search: Search) -> list[int]:
    """Places of the longest texts, and of others that are evenly spaced by length."""
    by_length = sorted(range(len(search.texts)), key=lambda place: -len(search.texts[place]))
    spaced = np.linspace(0, len(by_length) - 1, PROBE_TEXTS).astype(int).tolist()
    return sorted(dict.fromkeys([*by_length[: PROBE_TEXTS // 2], *(by_length[place] for place in spaced)]))


def _inputs(search: Search, probe: Sequence[int]) -> list[Input]:
    """All inputs that differ in the tokens of the probe, those nearest to the model's own first."""
    own = search.own_input
    lengths = dict.fromkeys((own.max_length, None, *USUAL_LENGTHS))
    cases = dict.fromkeys((own.lower_case, False, True))
    every = [Input(*each) for each in product(search.tokenizers, search.prompts, lengths, cases)]
    different: dict[tuple[tuple[int, ...], ...], Input] = {}
    for read in sorted(every, key=search.distance):
        different.setdefault(tuple(tuple(row.input_ids.tolist()) for row in search.rows(read, probe)), read)
    sides: tuple[Padding, ...] = ("none", "right", "left") if len(search.texts) > 1 else ("none",)
    return sorted((replace(read, padding=side) for read in different.values() for side in sides), key=search.distance)


def _agreements(
    search: Search, read: Input, places: Sequence[int], model: "transformers.PreTrainedModel | None" = None
) -> dict[Output, Agreement]:
    """Run the texts at some places once, and compare all vectors that can be made of their hidden states."""
    search.runs += 1
    rows, prompt = search.rows(read, places), search.prompt_tokens(read)
    parts: dict[Output, list[tuple[list[int], np.ndarray, int]]] = {}
    for batch, length in _batches(search, read, rows, places):
        others = search.vectors[[places[index] for index in batch]]
        for output, vectors in _vectors(search, read, [rows[index] for index in batch], length, prompt, model):
            if vectors.shape[1] >= others.shape[1]:
                compared = _compared(vectors.cpu().numpy().astype(np.float64), others)
                parts.setdefault(output, []).append((batch, compared, vectors.shape[1]))
    search.recipes += len(parts)
    return {output: _joined(each) for output, each in parts.items()}


def _compared(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Cosine, length after the cut, and length before it, of each row."""
    cut = vectors[:, : others.shape[1]]
    lengths = np.linalg.norm(cut, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = np.nan_to_num((cut * others).sum(axis=1) / (lengths * np.linalg.norm(others, axis=1)), nan=0.0)
    return np.stack((cosines, lengths, np.linalg.norm(vectors, axis=1)))


def _joined(parts: Sequence[tuple[list[int], np.ndarray, int]]) -> Agreement:
    order = np.argsort([index for batch, _, _ in parts for index in batch])
    cosines, lengths, whole = np.concatenate([compared for _, compared, _ in parts], axis=1)[:, order]
    return Agreement(cosines, lengths, whole, parts[0][2])


def _batches(
    search: Search, read: Input, rows: Sequence[SentenceRow], places: Sequence[int]
) -> Iterator[tuple[list[int], int]]:
    """Indices of rows that are run together, and the length to which they are padded."""
    if read.padding == "none":
        for batch in batches(search.loaded, [len(row) for row in rows]):
            yield batch, max(len(rows[index]) for index in batch)
        return
    bare = replace(read, padding="none")
    if bare not in search.counts:  # the whole list decides how far each text is padded
        search.counts[bare] = [len(row) for row in search.rows(read, range(len(search.texts)))]
    counts = search.counts[bare]
    order = sorted(range(len(counts)), key=lambda place: -len(search.texts[place]))
    for start in range(0, len(order), BATCH_TEXTS):
        together = order[start : start + BATCH_TEXTS]
        members = set(together)
        if batch := [index for index, place in enumerate(places) if place in members]:
            yield batch, max(counts[place] for place in together)


def _vectors(
    search: Search,
    read: Input,
    rows: Sequence[SentenceRow],
    length: int,
    prompt: int,
    model: "transformers.PreTrainedModel | None",
) -> "Iterator[tuple[Output, torch.Tensor]]":
    """The vectors of one run by every pooling, layer and number of dense layers, before normalisation and cut."""
    loaded, left = search.loaded, read.padding == "left"
    inputs = _padded(loaded, rows, length, left)
    with RUN_LOCK, torch.inference_mode():
        made, _ = model_states(loaded, inputs, [length] * len(rows), 0, model, inside=True)
        for include_prompt, include_padding in ((True, False), (False, False), (True, True)):
            if (not include_prompt and not prompt) or (include_padding and read.padding == "none"):
                continue
            mask = _mask([len(row) for row in rows], length, 0 if include_prompt else prompt, left)
            mask = torch.ones_like(mask) if include_padding else mask
            for output, vectors in _poolings(search, made, mask.to(loaded.device)):
                yield replace(output, include_prompt=include_prompt, include_padding=include_padding), vectors


def _poolings(search: Search, made: Mapping[str, Any], mask: "torch.Tensor") -> "Iterator[tuple[Output, torch.Tensor]]":
    """The vectors of all layers by every pooling, and of the last one by the dense layers."""
    last, dense = search.loaded.num_hidden_layers, search.plan.dense
    for layer in range(last + 1):
        hidden = made["last_hidden_state"] if layer == last else made["hidden_states"][layer]
        for pooling in TOKEN_POOLINGS:
            yield Output(layer, pooling), pooled(hidden, mask, pooling)
    sources = {pooling: pooled(made["last_hidden_state"], mask, pooling) for pooling in TOKEN_POOLINGS}
    if search.loaded.has_pooler:
        sources["pooler"] = pooler_output(search.loaded, made).float()
        yield Output(last, "pooler"), sources["pooler"]
    for pooling, vectors in sources.items():
        for count in range(1, len(dense) + 1):
            if vectors.shape[1] == dense[0].weight.shape[1]:
                yield Output(last, pooling, count), applied(vectors, dense[:count])


def _padded(loaded: LoadedModel, rows: Sequence[SentenceRow], length: int, left: bool) -> "dict[str, torch.Tensor]":
    """Inputs of a batch that are padded to a length, behind the texts or in front of them."""
    inputs = model_inputs(loaded, rows)
    fill = {"input_ids": getattr(loaded.model.config, "pad_token_id", None) or 0}
    for name, values in inputs.items():
        whole = torch.nn.functional.pad(values, (0, length - values.shape[1]), value=fill.get(name, 0))
        shifted = [row.roll(length - len(each)) for row, each in zip(whole, rows, strict=True)]
        inputs[name] = torch.stack(shifted) if left else whole
    return inputs


def _mask(counts: Sequence[int], length: int, skipped: int, left: bool) -> "torch.Tensor":
    """Which tokens are pooled, (batch, length) bool: neither padding nor the first `skipped`; one is always left."""
    lengths, positions = torch.tensor(counts)[:, None], torch.arange(length)[None]
    start = length - lengths if left else torch.zeros_like(lengths)
    return (positions >= start + torch.clamp(lengths - 1, max=skipped)) & (positions < start + lengths)


def _matches(search: Search, read: Input, agreements: Mapping[Output, Agreement]) -> list[RecipeMatch]:
    return [_match(search, read, output, agreement) for output, agreement in agreements.items()]


def _match(
    search: Search, read: Input, output: Output, agreement: Agreement, dtype: SentenceDtype = "float32"
) -> RecipeMatch:
    own, worst = _own_recipe(search, agreement.dimensions), int(agreement.cosines.argmin())
    recipe = VectorRecipe(
        tokenizer=read.tokenizer,
        prompt=read.prompt,
        lower_case=read.lower_case,
        max_length=search.limit(read),
        padding=read.padding,
        layer=output.layer,
        pooling=output.pooling,
        include_prompt=output.include_prompt,
        include_padding=output.include_padding,
        dense=output.dense,
        lengths=_lengths(search, agreement, own.lengths),
        dimensions=search.vectors.shape[1],
        dtype=dtype,
    )
    return RecipeMatch(
        recipe=recipe,
        mean_cosine=float(agreement.cosines.mean()),
        worst_cosine=float(agreement.cosines[worst]),
        worst_text=worst,
        differences=tuple(each.name for each in fields(recipe) if _differs(recipe, own, each.name)),
    )


def _tells(match: RecipeMatch, plan: SentencePlan) -> bool:
    """Whether a match is not another one by another name: a sum over a root has the direction of the mean."""
    recipe, roots = match.recipe, "mean_sqrt_len_tokens"
    return recipe.pooling != roots or plan.pooling == roots or recipe.lengths == "as pooled" or recipe.dense > 0


def _differs(recipe: VectorRecipe, own: VectorRecipe, name: str) -> bool:
    """Whether a field differs where it has an effect: the prompt's tokens are pooled or not only if there is one."""
    if name == "include_prompt" and not recipe.prompt:
        return False
    return bool(getattr(recipe, name) != getattr(own, name))


def _own_recipe(search: Search, dimensions: int) -> VectorRecipe:
    """The recipe of the model's folder, for vectors of so many dimensions before a cut."""
    read, output, plan = search.own_input, search.own_output, search.plan
    lengths: Lengths = "as pooled"
    if plan.normalize:
        lengths = "unit" if plan.truncate_dim is None else "unit, then cut"
    return VectorRecipe(
        tokenizer=read.tokenizer,
        prompt=read.prompt,
        lower_case=read.lower_case,
        max_length=search.limit(read),
        padding="none",
        layer=output.layer,
        pooling=output.pooling,
        include_prompt=output.include_prompt,
        include_padding=False,
        dense=output.dense,
        lengths=lengths,
        dimensions=min(plan.truncate_dim or dimensions, dimensions),
        dtype="float32",
    )


def _lengths(search: Search, agreement: Agreement, own: Lengths) -> Lengths:
    """Which normalisation gives the lengths of the vectors; of several the folder's own."""
    outside = np.linalg.norm(search.vectors, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = outside / agreement.lengths
        explained: dict[Lengths, np.ndarray] = {
            own: np.full(1, np.nan),
            "unit": outside,
            "as pooled": ratios,
            "unit, then cut": ratios * agreement.whole,
            "scaled": ratios / ratios.mean(),
        }
        if np.abs(outside / outside.mean() - 1).max() <= SAME_LENGTH and own != "scaled":
            explained["scaled"] = outside / outside.mean()
    return next((name for name, each in explained.items() if (np.abs(each - 1) <= SAME_LENGTH).all()), "other")


def _order(match: RecipeMatch) -> tuple[float, bool, int, float]:
    """Nearest first; of those that are equally near, what explains the lengths and differs least from the folder."""
    error = 1 - match.mean_cosine
    equal = match.worst_cosine >= 1 - EXACT
    return 0.0 if equal else error, match.recipe.lengths == "other", len(match.differences), error


def _without_idle_padding(matches: Sequence[RecipeMatch]) -> list[RecipeMatch]:
    """The matches without those whose padding changes nothing."""
    unpadded = {each.recipe: each for each in matches if each.recipe.padding == "none"}
    different = []
    for each in matches:
        bare = unpadded.get(replace(each.recipe, padding="none"))
        if each.recipe.padding == "none" or bare is None or abs(bare.mean_cosine - each.mean_cosine) > EXACT:
            different.append(each)
    return different


def _of_formats(search: Search, matches: list[RecipeMatch]) -> list[RecipeMatch]:
    """The matches, with the first one's run in 16 bits in front of it where that is nearer by half."""
    first = matches[0]
    if not EXACT < 1 - first.worst_cosine <= HALF * 10:
        return matches
    recipe = first.recipe
    read = Input(recipe.tokenizer, recipe.prompt, recipe.max_length, recipe.lower_case, recipe.padding)
    output = Output(recipe.layer, recipe.pooling, recipe.dense, recipe.include_prompt, recipe.include_padding)
    nearer = []
    for dtype in HALF_DTYPES:
        model = converted_model(search.loaded.model, dtype)
        try:
            made = _agreements(search, read, range(len(search.texts)), model)
        except (BertvizError, RuntimeError):  # this machine cannot run the model in this format
            continue
        match = _match(search, read, output, made[output], dtype)
        if 1 - match.mean_cosine < (1 - first.mean_cosine) / 2:
            nearer.append(match)
    return [*sorted(nearer, key=_order), *matches]


def _explains(match: RecipeMatch, vectors: np.ndarray) -> bool:
    """Whether a recipe makes the vectors, up to the rounding that their numbers show."""
    if match.recipe.lengths == "other":
        return False
    whole_numbers = bool((vectors == np.round(vectors)).all())
    allowed = QUANTIZED if whole_numbers else NEAR if match.recipe.dtype == "float32" else HALF
    return match.worst_cosine >= 1 - allowed
