"""What interventions change: effects of heads and blocks, heads removed one after the other, patches of two texts."""

from functools import cached_property

from bertviz_core.causes.effects import all_effects, effect_spread, part_effects
from bertviz_core.causes.means import part_means
from bertviz_core.causes.patches import patches
from bertviz_core.causes.removal import accuracy_curves, removal_curves
from bertviz_core.causes.requests import named_probe, open_target, target_request
from bertviz_core.causes.results import (
    EFFECT_KINDS,
    EffectComparison,
    EffectKind,
    EffectSpread,
    PartMeans,
    Patches,
    RemovalCurve,
)
from bertviz_core.causes.runs import InterventionRuns
from bertviz_core.causes.targets import MEASURES, Target, class_target, probe_target
from bertviz_core.causes.words.classes import class_shares, head_classes, probe_classes, tag_classes
from bertviz_core.causes.words.curves import word_curves
from bertviz_core.causes.words.gradients import GRADIENT_METHODS
from bertviz_core.causes.words.leave_one_out import leave_one_out
from bertviz_core.causes.words.pairs import pair_ledger
from bertviz_core.causes.words.results import (
    METHODS,
    ClassShares,
    PairLedger,
    Replacement,
    ShareMethod,
    WordCurves,
    WordShares,
)
from bertviz_core.cli.figure.inputs.runs import RunInputs
from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.causes.word_curves import METHOD_NAMES
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.predictions.labelled.probe import probe_predictions
from bertviz_core.predictions.labelled.reading import drawn, example_set, optional_labels
from bertviz_core.predictions.labelled.results import LabelledTexts, Probe
from bertviz_core.predictions.loading import load_head, stored_task
from bertviz_core.predictions.tags import surest_tag, tag_predictions
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.reading.files import read_sentences
from bertviz_core.trace.results import TextPieces
from bertviz_core.trace.subwords.pieces import text_pieces
from bertviz_core.trace.tokenization import longest_piece, tokenize

FIRST_REMOVED, MOST_REMOVED = 6, 16
"""Heads that are removed one after the other where no count is given, and at most."""


class CauseInputs(RunInputs):
    """A target, and how it answers to changes of the model."""

    @cached_property
    def target(self) -> Target:
        """The number that is looked at: --set target=class:NAME, measure=margin; by default as open_target has it."""
        return self._target(self.asked.pair)

    def _target(self, pair: str | None) -> Target:
        name, measure = self.asked.more.get("target"), self.asked.setting("measure", MEASURES)
        text = self.asked.text()
        opened = open_target(self.source, self.settings, text, pair, name, measure, base=self.loaded)
        self.texts, self.notices = (text, pair), opened.notices
        return opened

    @cached_property
    def part_means(self) -> PartMeans:
        """Means of the model's parts over the default reference set."""
        return part_means(self.loaded, self.tokenizer)

    @cached_property
    def effect_comparison(self) -> EffectComparison:
        """The effects of every part, measured twice and estimated."""
        batch, gradient = self.settings.max_batch_bytes, self.settings.max_gradient_bytes
        return all_effects(self.target, EFFECT_KINDS, self.part_means, None, batch, gradient)

    @cached_property
    def removal_curves(self) -> tuple[RemovalCurve, ...]:
        """The target as heads go: --set count=6, removed_for="its mean"."""
        runs = InterventionRuns(self.target, self.settings.max_batch_bytes)
        count, limit = self._removed_count(runs), self.settings.max_gradient_bytes
        return removal_curves(runs, count, self._in_place, None, limit)

    def _removed_count(self, runs: InterventionRuns) -> int:
        return self.asked.place("count", MOST_REMOVED + 1, min(FIRST_REMOVED, len(runs.places)))

    @property
    def _in_place(self) -> PartMeans | None:
        """What stands in the place of a removed head: --set removed_for="its mean"."""
        return self.part_means if self.asked.setting("removed_for", ("nothing", "its mean")) == "its mean" else None

    @cached_property
    def _listed(self) -> LabelledTexts:
        """The texts of a list, each a sentence or a sentence, a tab and its label; else some of the example set."""
        if self.asked.texts:
            return optional_labels(read_sentences("The list", "\n".join(self.asked.texts), self.settings))
        counts = ("10", "25", "50")
        return drawn(example_set(), int(self.asked.setting("effect_count", counts)))

    @cached_property
    def effect_spread(self) -> EffectSpread:
        """Mean and spread of every head's effect over a list: --set effect_count=25 draws from the example set."""
        name, measure = self.asked.more.get("target"), self.asked.setting("measure", MEASURES)
        if target_request(name, self.asked.pair is not None).kind not in ("cosine", "class", "probe"):
            raise TextError("This figure is of many texts; take the cosine, a class or a probe as the target.")
        pair = self.asked.pair
        kind: EffectKind = "zero" if self._in_place is None else "mean"
        batch = self.settings.max_batch_bytes
        return effect_spread(
            part_effects(
                open_target(self.source, self.settings, text, pair, name, measure, base=self.loaded),
                kind,
                self._in_place,
                None,
                batch,
            )
            for text in self._listed.texts
        )

    @cached_property
    def accuracy_curves(self) -> tuple[RemovalCurve, ...]:
        """The share of right answers of the model's own head, or of --set target=probe:FILE, as heads go."""
        texts = [text for text, label in zip(self._listed.texts, self._listed.labels, strict=True) if label]
        labels = [label for label in self._listed.labels if label]
        if not labels:
            raise TextError("This figure counts right answers; give each text its label behind a tab.")
        probe = self._probe
        targets: list[Target]
        if probe is not None:
            targets = [
                probe_target(probe, self.loaded, self.tokenizer, text, label, "margin")
                for text, label in zip(texts, labels, strict=True)
            ]
        else:
            head = load_head(self.source, self.settings, "sequence-classification", self.loaded)
            tokens = [tokenize(self.tokenizer, text) for text in texts]
            targets = [class_target(head, read, label, "margin") for read, label in zip(tokens, labels, strict=True)]
        runs = [InterventionRuns(target, self.settings.max_batch_bytes) for target in targets]

        def answers() -> list[str]:
            if probe is not None:
                found = probe_predictions(probe, self.loaded, self.tokenizer, texts)
            else:
                found = class_predictions(head, tokens)
            return [each.labels[each.best] for each in found]

        count, limit = self._removed_count(runs[0]), self.settings.max_gradient_bytes
        return accuracy_curves(runs, count, answers, labels, self._in_place, None, limit)

    @property
    def _probe(self) -> Probe | None:
        """The probe whose classes are meant, --set target=probe:FILE; None for the model's own head."""
        kind, _, argument = self.asked.more.get("target", "").partition(":")
        if kind not in ("", "probe"):
            raise TextError("This figure is of all classes; leave target out, or give target=probe:FILE.")
        return named_probe(argument)[0] if kind else None

    @cached_property
    def patches(self) -> Patches:
        """Every state and head of the text, copied into the run of --pair; a head reads the text alone."""
        other = self.asked.pair
        if other is None:
            raise TextError("A patch needs a second text, into whose run is copied; give one (--pair).")
        of_cosine = self.asked.more.get("target", "cosine") == "cosine"
        runs = InterventionRuns(self._target(other if of_cosine else None), self.settings.max_batch_bytes)
        self.texts = (self.asked.text(), other)
        return patches(runs, tokenize(self.tokenizer, other))

    @cached_property
    def word_shares(self) -> WordShares:
        """What each word adds: --set method="integrated gradients", units=tokens, in_place=nothing."""
        names = {METHOD_NAMES[method]: method for method in METHODS}
        found = self._shares(names[self.asked.setting("method", tuple(names))])
        self.notices = found.notices
        return found

    def _shares(self, method: ShareMethod) -> WordShares:
        whole_words = self.asked.setting("units", ("words", "tokens")) == "words"
        if method != "leave-one-out":
            limit = self.settings.max_gradient_bytes
            return GRADIENT_METHODS[method](self.target, self.tokenizer, whole_words, None, limit)
        return leave_one_out(self.target, self.tokenizer, whole_words, self._replacement)

    @property
    def _replacement(self) -> Replacement:
        return "mask" if self.asked.setting("in_place", ("the mask", "nothing")) == "the mask" else "drop"

    @cached_property
    def word_pieces(self) -> TextPieces:
        """The text that these words are of, cut into its tokens."""
        return text_pieces(self.word_shares.tokens)

    @cached_property
    def class_shares(self) -> ClassShares:
        """What each word adds to each class, or to each tag of --set position=N: target=probe:FILE, classes=A,B."""
        asked, text = self.asked, self.asked.text()
        if self._probe is not None:
            classes = probe_classes(self._probe, self.loaded, self.tokenizer, text)
        else:
            head = load_head(self.source, self.settings, asked.task or stored_task(self.source), self.loaded)
            tokens = tokenize(self.tokenizer, text, asked.pair)
            if head.task == "token-classification":
                _, at = surest_tag(tag_predictions(head, [tokens])[0]) or ("", longest_piece(tokens))
                classes = tag_classes(head, tokens, asked.place("position", len(tokens), at))
            else:
                classes = head_classes(head, tokens)
        labels = [label for label in asked.more.get("classes", "").split(",") if label]
        whole_words = asked.setting("units", ("words", "tokens")) == "words"
        measure = asked.setting("measure", MEASURES)
        found = class_shares(classes, self.tokenizer, labels, measure, whole_words, self._replacement)
        self.texts, self.notices = (text, asked.pair), found.notices
        return found

    @cached_property
    def word_curves(self) -> WordCurves:
        """The target without the strongest words and with them alone, by two methods."""
        shares = [self._shares(method) for method in METHODS[:2]]
        return word_curves(self.target, self.tokenizer, shares)

    @cached_property
    def pair_ledger(self) -> PairLedger:
        """The cosine of the text and --pair by pairs of their tokens, from the last layer but one or --layer."""
        pair, last = self.asked.pair, self.loaded.num_hidden_layers - 1
        if pair is None:
            raise TextError("This figure is of two texts, and one came; give the second (--pair).")
        layer = self.asked.number("layer", self.asked.layer, last + 1, last, " (the embedding output)")
        text, plan = self.asked.text(), recommended(self.source, self.settings)
        found = pair_ledger(self.loaded, self.tokenizer, text, pair, plan, layer, None, self.settings.max_batch_bytes)
        self.texts, self.notices = (text, pair), found.notices
        return found
