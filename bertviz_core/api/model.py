"""The public model class, with a method for each kind of analysis."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import overload

from numpy.typing import ArrayLike

from bertviz_core.api.drawing import FigureSource
from bertviz_core.api.own_model import LibraryModel, OwnModel, Saveable, Texts, checked, library_model, paired
from bertviz_core.api.rankings import ModelRankings
from bertviz_core.api.results.answers import (
    BackgroundResult,
    CanaryCheckResult,
    CanaryResult,
    ChunksResult,
    LabelErrorsResult,
    PredictionResult,
    PromptRanksResult,
    PromptsResult,
    SentencesResult,
    ThresholdsResult,
    VectorExplanationResult,
)
from bertviz_core.api.results.runs import JourneyResult, TokensResult, TraceResult
from bertviz_core.api.results.two_models import EffectsResult, WordsResult
from bertviz_core.api.results.weights import (
    AdapterResult,
    ArchitectureResult,
    HeadsResult,
    LoadReportResult,
    ParametersResult,
)
from bertviz_core.errors import TextError
from bertviz_core.models.skeleton import TASKS, quietly
from bertviz_core.questions.interventions.attributions import share_values, word_attributions
from bertviz_core.questions.interventions.effects import ablation_effects
from bertviz_core.questions.models.architecture import architecture, parameters
from bertviz_core.questions.models.checkpoints import adapter_updates, load_report_of
from bertviz_core.questions.parameters import Options, joined_names, numbered
from bertviz_core.questions.predictions.label_errors import label_errors, label_options, typed_rows
from bertviz_core.questions.predictions.predict import fitting_head, predictions
from bertviz_core.questions.predictions.thresholds import labelled_pairs, threshold_options, thresholds
from bertviz_core.questions.texts.background import background
from bertviz_core.questions.texts.canaries import canary_of, checked_canary
from bertviz_core.questions.texts.chunks import chunk_options, late_chunks
from bertviz_core.questions.texts.hidden_states import head_matrices, run
from bertviz_core.questions.texts.journey import journey
from bertviz_core.questions.texts.prompts import compared_prompts, pair_options, ranked_prompts
from bertviz_core.questions.texts.sentences import sentence_vectors
from bertviz_core.questions.texts.tokens import tokens as tokens_of
from bertviz_core.questions.texts.vectors import explained_vectors, outside_options, vector_rows
from bertviz_core.sentences.analysis.canary.comparison import TOLERANCE
from bertviz_core.sentences.analysis.canary.file import read_canary, write_canary
from bertviz_core.text import escape_controls, quoted


def plan_values(pooling: str | None, layer: int | None) -> dict[str, str]:
    """Values of the parameters of sentence vectors."""
    values = {} if pooling is None else {"pooling": pooling}
    return values | ({} if layer is None else {"layer": str(layer)})


class ModelOfLists(ModelRankings):
    """Methods of a model for lists of texts, comparisons, and figures."""

    @checked
    def sentences(
        self, sentences: Sequence[str], *, pooling: str | None = None, layer: int | None = None
    ) -> SentencesResult:
        """Embed sentences [sentences, dimensions], with the cosine similarity of every pair.

        Args:
            sentences: texts, at least one.
            pooling: "mean", "cls", "max", "pooler" or "lasttoken"; defaults to that of the checkpoint.
            layer: index of the hidden states to pool, 0 for the embedding output; defaults to the last.

        Raises:
            BertvizError: the weights are not on this machine, there is no such pooling or layer, or the list is empty.
        """
        if not sentences:
            raise TextError("sentences is an empty list; give at least one text.")
        values = plan_values(pooling, layer)
        return self._ask(sentence_vectors, SentencesResult, Options(tuple(sentences), None, self.task, values))

    @checked
    def background(
        self, texts: Sequence[str] | None = None, *, pooling: str | None = None, layer: int | None = None
    ) -> BackgroundResult:
        """Measure how alike unrelated texts are to the model, so that the height of a cosine can be judged.

        Args:
            texts: texts whose pairs are taken, at least 3; defaults to 200 shipped texts, no two of one subject.
            pooling: as in `sentences`.
            layer: as in `sentences`.

        Raises:
            BertvizError: as in `sentences`, or there are fewer than 3 different texts.
        """
        values = plan_values(pooling, layer)
        values |= {} if texts is None else {"background": "this list"}
        return self._ask(background, BackgroundResult, Options(tuple(texts or ()), None, self.task, values))

    @checked
    def explain_vectors(
        self, texts: Sequence[str], vectors: ArrayLike, *, prompts: Sequence[str] = ()
    ) -> VectorExplanationResult:
        """Name the recipe that makes vectors of these texts which another program computed.

        Args:
            texts: the texts, one for each vector.
            vectors: numbers [texts, dimensions].
            prompts: prompts to try besides those of the model's folder.

        Raises:
            BertvizError: the numbers of texts and vectors differ, a vector has NaN or only zeros, or no recipe of the
                model makes vectors of so many dimensions.
        """
        rows = vector_rows(texts, vectors)
        return self._ask(explained_vectors, VectorExplanationResult, outside_options(texts, rows, prompts))

    @overload
    def compare_prompts(
        self,
        texts: Sequence[str],
        *,
        queries: None = None,
        gold: None = None,
        prompts: str | None = None,
        query_prompt: str = "",
        document_prompt: str = "",
    ) -> PromptsResult: ...

    @overload
    def compare_prompts(
        self,
        texts: Sequence[str],
        *,
        queries: Sequence[str],
        gold: Sequence[float] | None = None,
        prompts: str | None = None,
        query_prompt: str = "",
        document_prompt: str = "",
    ) -> PromptRanksResult: ...

    @checked
    def compare_prompts(
        self,
        texts: Sequence[str],
        *,
        queries: Sequence[str] | None = None,
        gold: Sequence[float] | None = None,
        prompts: str | None = None,
        query_prompt: str = "",
        document_prompt: str = "",
    ) -> PromptsResult | PromptRanksResult:
        """Compare texts without a prompt, with prompts of queries and documents, and with swapped ones.

        Without queries: the cosines of all pairs of a list. With queries: the ranks of relevant documents.

        Args:
            texts: sentences, at least two; or documents, one for each query.
            queries: the query that each text is for; texts and queries may be repeated.
            gold: relevance of each text for its query, 0 for none; defaults to 1 for every text.
            prompts: "own", or a family such as "E5"; defaults to the prompts of the folder or of the model's family.
            query_prompt: prompt of queries, instead of `prompts`.
            document_prompt: prompt of documents, instead of `prompts`.

        Raises:
            BertvizError: there are no such prompts, too few texts, or the lengths of the lists differ.
        """
        if prompts is not None and (query_prompt or document_prompt):
            raise TextError("query_prompt and document_prompt are instead of prompts; leave that out.")
        pair = prompts or "", query_prompt, document_prompt
        if queries is None:
            if gold is not None:
                raise TextError("gold is the relevance of texts for queries; give queries, too.")
            return self._ask(compared_prompts, PromptsResult, pair_options(texts, *pair))
        scores = [1.0] * len(texts) if gold is None else list(map(float, gold))
        if not len(texts) == len(queries) == len(scores):
            lengths = f"queries {len(queries):,}, texts {len(texts):,}, gold {len(scores):,}"
            raise TextError(f"The lists differ in length ({lengths}); give one text and one number for each query.")
        rows = zip(queries, texts, scores, strict=True)
        triples = [cell for query, text, score in rows for cell in (query, text, repr(score))]
        return self._ask(ranked_prompts, PromptRanksResult, pair_options(triples, *pair))

    @checked
    def write_canary(self, path: str | PathLike[str], texts: Sequence[str] | None = None) -> CanaryResult:
        """Write the tokens and vectors of some texts to a file, with recipe, versions and digests of the model's files.

        Args:
            path: path of the file, JSON; a file that is there is replaced.
            texts: the texts, each once; defaults to 40 of many scripts.

        Raises:
            BertvizError: the weights are not on this machine, a vector has NaN, or the file cannot be written.
        """
        if texts is not None and not texts:
            raise TextError("texts is an empty list; give at least one text.")
        answer = canary_of(self._opened, texts or ())
        write_canary(Path(fspath(path)), answer.result)
        return CanaryResult(answer.result, FigureSource(self._opened, Options(), answer.notices))

    @checked
    def check_canary(self, path: str | PathLike[str], *, tolerance: float = TOLERANCE) -> CanaryCheckResult:
        """Say what has changed of the model since its canary was written: tokens, weights, recipe, versions, numbers.

        Args:
            path: path of the file that `write_canary` wrote, for this model or for another.
            tolerance: largest permitted change of a vector, as a share of its length.

        Raises:
            BertvizError: the weights are not on this machine, or the file is missing, damaged or of another version.
        """
        answer = checked_canary(self._opened, read_canary(Path(fspath(path))), tolerance)
        return CanaryCheckResult(answer.result, FigureSource(self._opened, Options(), answer.notices))

    @checked
    def chunks(
        self, text: str, *, tokens: int | None = None, overlap: int = 0, query: str | None = None
    ) -> ChunksResult:
        """Cut a long text into chunks, each embedded alone and pooled from the whole text (late chunking).

        `result.chunks.alone` and `result.chunks.late` are the vectors, `result.shares` the share of every position in
        the vector of the text.

        Args:
            text: the text, which may be longer than what the model reads at once.
            tokens: most tokens of a chunk, without special ones; defaults to 128.
            overlap: most tokens that a chunk repeats of the one before.
            query: what the chunks are compared with; defaults to the first sentence of the text.

        Raises:
            BertvizError: the text is empty or a single token, or the chunks are larger than what the model reads.
        """
        return self._ask(late_chunks, ChunksResult, chunk_options(text, tokens, overlap, query))

    @checked
    def thresholds(
        self,
        pairs: Sequence[Sequence[str]],
        labels: ArrayLike,
        *,
        precision: float = 0.9,
        cut: float | None = None,
        scored_by: str | None = None,
        threshold_of: str = "score",
        label: str | None = None,
        pooling: str | None = None,
    ) -> ThresholdsResult:
        """Find a threshold of a score from labelled pairs: precision, recall and F1 of every one, with 95% intervals.

        Args:
            pairs: two texts each; the first is the query of a reranker. At least 4, at most 10,000.
            labels: for each pair 1 or 0 (True or False), or its gold similarity.
            precision: the precision that is to be reached, 0 to 1.
            cut: the least gold similarity of a positive pair; defaults to 1 for labels 0 and 1, otherwise to the middle
                between the lowest and the highest.
            scored_by: "cosine", "head" or "late interaction"; defaults to the head of a reranker, and to the cosine for
                other models.
            threshold_of: "score" or "logit", of a head.
            label: the class whose probability is the score; defaults to "entailment".
            pooling: pooling of the cosine; defaults to that of the checkpoint.

        Raises:
            BertvizError: a pair is not two texts or a label no number, all pairs have one label, or they are too few or
                too many.
        """
        values = {"precision": str(precision), "cut": "" if cut is None else str(cut), "scored_by": scored_by or ""}
        values |= {"threshold_of": threshold_of, "label": label or "", "pooling": pooling or ""}
        options = threshold_options(labelled_pairs(pairs, labels), values, self.task)
        return self._ask(thresholds, ThresholdsResult, options)

    @checked
    def label_errors(
        self,
        texts: Sequence[str],
        labels: Sequence[str],
        *,
        probabilities_from: str = "probe",
        suspects_by: str = "confident learning",
        suspects_order: str = "self-confidence",
        pooling: str | None = None,
        layer: int | None = None,
        seed: int = 0,
        class_names: Sequence[str] = (),
    ) -> LabelErrorsResult:
        """Find the labels that are likely wrong, by confident learning (Northcutt et al. 2021).

        `result.to_pandas()` has a row for each suspect, the least likely right first, with an empty column decision.

        Args:
            texts: the texts; of more than 10,000 a sample is checked.
            labels: the class of each, "" for none.
            probabilities_from: "probe" for probes that are fitted without the text, "head" for the model's own head.
            suspects_by: "confident learning", "noise rate", "both" or "another class": cleanlab's
                "confident_learning", "prune_by_noise_rate", "both" and "predicted_neq_given".
            suspects_order: "self-confidence" or "normalized margin".
            pooling: pooling of the vectors; defaults to that of the checkpoint.
            layer: entry of the hidden states that is pooled; defaults to the last.
            seed: seed of the division into folds.
            class_names: names for the classes of a head that only numbers them, in its order; defaults to its own.

        Raises:
            BertvizError: fewer than two classes have two texts, or the head has no class with the name of a label.
        """
        values = {
            "probabilities_from": probabilities_from,
            "suspects_by": suspects_by,
            "suspects_order": suspects_order,
        }
        values |= {"seed": str(seed), "class_names": joined_names(class_names), **plan_values(pooling, layer)}
        return self._ask(label_errors, LabelErrorsResult, label_options(typed_rows(texts, labels), values))


class Model(ModelOfLists):
    """A BERT-family model; its weights are loaded by the first method that needs them, and then cached.

    `parameters`, `architecture` and `load_report` read only the config and the header of the weights. `name` is the
    name under which it was opened, or the class name of a model object. `task` selects the class with a task head;
    None selects the class that the checkpoint names.
    """

    @checked
    def __init__(
        self,
        name: str | PathLike[str] | Saveable,
        task: str | None = None,
        device: str | None = None,
        tokenizer: Saveable | None = None,
    ) -> None:
        """Open a model; see `open_model`."""
        if task is not None and task not in TASKS:
            raise TextError(f"There is no task {quoted(escape_controls(task), 40)}; choose {', '.join(TASKS)}.")
        self._own = None if isinstance(name, str | PathLike) else OwnModel(name, tokenizer)
        if self._own is None and tokenizer is not None:
            raise TextError("tokenizer goes with a model object; a model that is opened by its name has its own.")
        self.name: str = fspath(name) if isinstance(name, str | PathLike) else type(name).__name__
        self.task = task
        self._device = self._own.device if self._own and device is None else device
        self._named = self._open()
        _ = self._named.source  # fail early if there is no such model

    def _open(self) -> LibraryModel:
        opened = library_model(self.name, self.task, self._device, self._own.saved if self._own else None)
        if self._own is not None:
            self._own.check_tokenizer(opened)
        return opened

    @property
    def _opened(self) -> LibraryModel:
        """The model with the weights that the caller's object has now."""
        if self._own is not None and self._own.changed():
            self._named = self._open()
        return self._named

    def __repr__(self) -> str:
        name = repr(self.name) if self._own is None else f"<{self.name}>"
        return f"open_model({name})" if self.task is None else f"open_model({name}, task={self.task!r})"

    @checked
    def parameters(self) -> ParametersResult:
        """List every named parameter (name, shape, count), and how the counts add up to the total.

        Raises:
            BertvizError: the config or the header cannot be read.
        """
        return self._ask(parameters, ParametersResult, Options(task=self.task))

    @checked
    def architecture(self) -> ArchitectureResult:
        """Return the sizes by their names in config.json, and the capabilities of the family.

        Raises:
            BertvizError: the config or the header cannot be read.
        """
        return self._ask(architecture, ArchitectureResult, Options(task=self.task))

    @checked
    def load_report(self, task: str | None = None, labels: int | None = None) -> LoadReportResult:
        """Report which weights of a task class the checkpoint contains, which are missing, and which are unused.

        Args:
            task: task of the class; defaults to the task of the model, or to "base".
            labels: number of outputs of a classification head; defaults to that of the config.

        Raises:
            BertvizError: there is no such task, or the header cannot be read.
        """
        chosen = task or self.task or "base"
        options = Options(task=chosen, values={} if labels is None else {"labels": str(labels)})
        opened = self._opened
        return LoadReportResult(load_report_of(opened, chosen, labels).result, FigureSource(opened, options))

    def adapter(self) -> AdapterResult:
        """Measure what a LoRA adapter adds to each matrix of its base: rank, norm, singular values.

        Raises:
            BertvizError: the model is no adapter, or the weights of its base are not on this machine.
        """
        return self._ask(adapter_updates, AdapterResult, Options(task=self.task))

    @checked
    def tokens(self, text: str, pair: str | None = None) -> TokensResult:
        """Tokenize a text or pair, with ids, words and offsets.

        Raises:
            BertvizError: there is no tokenizer on this machine, or the text has too many characters.
        """
        return self._ask(tokens_of, TokensResult, Options((text,), pair, self.task))

    @checked
    def journey(self, text: str, pair: str | None = None) -> JourneyResult:
        """Follow a text or pair through the whole model; shown as an interactive drawing in a notebook.

        Raises:
            BertvizError: the text has too many characters or tokens.
        """
        return self._ask(journey, JourneyResult, Options((text,), pair, self.task))

    @overload
    def trace(self, text: str, pair: str | None = None) -> TraceResult: ...

    @overload
    def trace(self, text: Texts, pair: str | Texts | None = None) -> list[TraceResult]: ...

    @checked
    def trace(self, text: str | Texts, pair: str | Texts | None = None) -> TraceResult | list[TraceResult]:
        """Run the model on a text: hidden states [layers + 1, tokens, hidden], attention [tokens, tokens] per head.

        Args:
            text: a text, or a list of texts, for which a list of results is returned.
            pair: a second text of the same input; for a list of texts one for all, or a list of equal length.

        Raises:
            BertvizError: the weights are not on this machine, or the text has too many characters.
        """
        traces = [self._ask(run, TraceResult, Options((one,), two, self.task)) for one, two in paired(text, pair)]
        return traces[0] if isinstance(text, str) else traces

    @checked
    def heads(self, layer: int) -> HeadsResult:
        """Split the query, key, value and output matrices of a layer into heads [heads, head_dim, hidden].

        Args:
            layer: index of the layer, zero-based.

        Raises:
            BertvizError: the weights are not on this machine, or there is no such layer.
        """
        number = numbered("layer", str(layer), self._opened.loaded.num_hidden_layers, self.name)
        return self._ask(head_matrices, HeadsResult, Options(task=self.task, values={"layer": str(number)}))

    @overload
    def predict(
        self,
        text: str,
        pair: str | None = None,
        *,
        task: str | None = None,
        top: int = 5,
        mask: Sequence[int] = (),
        view: str = "words",
        join: str = "simple",
    ) -> PredictionResult: ...

    @overload
    def predict(
        self,
        text: Texts,
        pair: str | Texts | None = None,
        *,
        task: str | None = None,
        top: int = 5,
        mask: Sequence[int] = (),
        view: str = "words",
        join: str = "simple",
    ) -> list[PredictionResult]: ...

    @checked
    def predict(
        self,
        text: str | Texts,
        pair: str | Texts | None = None,
        *,
        task: str | None = None,
        top: int = 5,
        mask: Sequence[int] = (),
        view: str = "words",
        join: str = "simple",
    ) -> PredictionResult | list[PredictionResult]:
        """Predict with a task head: probabilities of classes, tags, answers, words at a mask.

        Args:
            text: the text or question, or a list, for which a list of results is returned.
            pair: a second text, or the context of a question; for a list one for all, or a list of equal length.
            task: task of the head; defaults to that of the model, or to the head that the checkpoint was saved with.
            top: number of words, terms or answers to list.
            mask: positions to mask, as in `tokens`.
            view: output of a masked-LM head: "words", "surprise" (nats), "lens" or "terms".
            join: how tags are merged into entities: "none", "simple", "first", "average" or "max".

        Raises:
            BertvizError: the checkpoint has no such head, or the text has too many characters.
        """
        masked, texts = ",".join(map(str, mask)), paired(text, pair)
        values = {"view": view, "top": str(top), "mask": masked, "join": join}
        options = Options(task=task or self.task, values=values)
        opened = self._opened
        with quietly():
            head, answers = fitting_head(opened, options), predictions(opened, options, texts)
        drawn = {"mask": masked or "none"} if head.task == "masked-lm" and view in ("words", "lens") else {}
        drawn |= {"joined": join} if head.task == "token-classification" else {}
        results = [
            PredictionResult(answer, head, FigureSource(opened, Options((one,), other, head.task, drawn)))
            for answer, (one, other) in zip(answers, texts, strict=True)
        ]
        return results[0] if isinstance(text, str) else results

    @overload
    def effects(
        self, text: str, pair: str | None = ..., *, target: str | None = ..., measure: str = ..., kind: str = ...
    ) -> EffectsResult: ...

    @overload
    def effects(
        self,
        text: Texts,
        pair: str | Texts | None = ...,
        *,
        target: str | None = ...,
        measure: str = ...,
        kind: str = ...,
    ) -> list[EffectsResult]: ...

    @checked
    def effects(
        self,
        text: str | Texts,
        pair: str | Texts | None = None,
        *,
        target: str | None = None,
        measure: str = "logit",
        kind: str = "zero",
    ) -> EffectsResult | list[EffectsResult]:
        """Measure how much a scalar output changes when each head, feed-forward block or layer is ablated.

        Args:
            text: the text, or a list, for which a list of results is returned.
            pair: a second text; for a list one for all, or a list of equal length.
            target: the output: "class:NAME", "tag:LABEL@POSITION", "word:WORD@POSITION", "answer", "probe:FILE",
                "state:ENTRY,TOKEN,DIMENSION", "direction:ENTRY,TOKEN,TEXT->TEXT"; of two texts "cosine", or
                "late-interaction", the score of the text for the pair as the query.
                Defaults to "cosine" if there are two texts, otherwise to the prediction of the model: its most
                likely class, its most confident tag, or the word at the mask.
            measure: for a class or tag "logit", "probability" or "margin".
            kind: replaces the output of a head: "zero", "mean" (over a reference set), or "gradient" (an estimate).

        Raises:
            BertvizError: there is no such target, measure or kind, or the checkpoint has no such head.
        """
        values = {"measure": measure, "kind": kind, **({} if target is None else {"target": target})}
        every = [Options((one,), other, self.task, values) for one, other in paired(text, pair)]
        results = [self._ask(ablation_effects, EffectsResult, each) for each in every]
        return results[0] if isinstance(text, str) else results

    @checked
    def words(
        self,
        text: str,
        pair: str | None = None,
        *,
        target: str | None = None,
        measure: str = "logit",
        method: str = "leave-one-out",
        instead: str = "mask",
        tokens: bool = False,
    ) -> WordsResult:
        """Attribute a scalar output of the model to the words of a text.

        Args:
            text: the text.
            pair: a second text.
            target: the output, as for `effects`.
            measure: for a class or tag "logit", "probability" or "margin".
            method: "leave-one-out", "integrated-gradients" or "gradient-x-input".
            instead: whether leave-one-out masks or drops a word: "mask" or "drop".
            tokens: whether to attribute to tokens rather than words.

        Raises:
            BertvizError: there is no such target, measure or method, or the checkpoint has no such head.
        """
        named = {} if target is None else {"target": target}
        values = {"measure": measure, **named, **share_values(method, instead, tokens)}
        return self._ask(word_attributions, WordsResult, Options((text,), pair, self.task, values))
