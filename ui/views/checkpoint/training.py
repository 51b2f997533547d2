"""A training run: the trainer's log, the movement of the weights, frozen and broken tensors."""

import streamlit as st

from bertviz_core.checkpoints.tables import log_frame, movement_frame
from bertviz_core.checkpoints.training.folder import run_names
from bertviz_core.checkpoints.training.movement import LEAST_CHECKPOINTS
from bertviz_core.checkpoints.training.results import BROKEN, TrainingMovement
from bertviz_core.errors import CheckpointError
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.checkpoints.training import (
    log_panels,
    training_log_figure,
    training_movement_figure,
    undrawn_text,
)
from bertviz_core.questions.models.checkpoints import OTHER, SCALE, SCALES
from bertviz_core.questions.models.training import FROM, PART, training_log, training_movement
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.training.log_and_movement import broken_frame, frozen_frame
from bertviz_core.text import counted, escape_markdown
from ui.address.registry import param
from ui.address.widgets import choice, select
from ui.cache.folders import SharedTraining
from ui.components.step_links import Link, address, step_links
from ui.session import settings as server_settings
from ui.views.checkpoint.comparison import number
from ui.views.checkpoint.controls import scale_choice
from ui.views.checkpoint.followed import followed_view
from ui.views.checkpoint.texts import LOG, MOVED, NO_RUN
from ui.widgets.figure_block import chart, figure_block, folded, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer

WIDTH = 245
"""Pixels of a select."""


def settings(name: str) -> tuple[str, str, str, bool]:
    """The folder ("" for none), what the movement is from, the part of each layer, and the scale."""
    names = run_names(server_settings())
    if not names:
        return "", FROM.options[0], PART.options[0], True
    run = select(param("training"), "Training run", names, width=WIDTH)
    with st.popover("Options"):
        moved_from = choice(FROM, "Movement from")
        part = choice(PART, "Part of each layer")
        logarithmic = scale_choice()
    st.button("Look again", icon=":material/refresh:", key="look_again", help="Takes checkpoints saved meanwhile.")
    return run, moved_from, part, logarithmic


def view(name: str, run: str, moved_from: str, part: str, logarithmic: bool) -> None:
    """The log and the movement of a training run."""
    if not run:
        with st.container(key="checkpoint_no_run"):
            st.info(NO_RUN, icon=":material/info:")
        return
    opened = SharedTraining(run)
    _log(opened)
    for notice in unshown(opened.run.notices):
        st.caption(f":material/info: {escape_markdown(notice)}")
    values = {FROM.key: moved_from, PART.key: part, SCALE.key: SCALES[0] if logarithmic else SCALES[1]}
    if len(opened.run.states) >= LEAST_CHECKPOINTS:
        _movement(opened, Options(values=values), logarithmic)
        _two(opened)
    else:
        try:
            training_movement(opened, Options())
        except CheckpointError as error:
            st.info(escape_markdown(str(error)), icon=":material/info:")
    followed_view(opened)


def _log(opened: SharedTraining) -> None:
    """The curves of the log."""
    log = training_log(opened, Options())
    for notice in unshown(log.notices):
        st.warning(escape_markdown(notice))
    if not log.result.entries:
        return
    below = figure_block(
        training_log_figure(log.result),
        f"training log {opened.name}",
        log_frame(log.result),
        models=[each for each, _ in log.models],
        explanation=(LOG, library_lines(training_log, opened, Options())),
    )
    undrawn = undrawn_text(log.result, log_panels(log.result.metrics))
    if undrawn:
        below.caption(f"{undrawn}.")


def _movement(opened: SharedTraining, options: Options, logarithmic: bool) -> None:
    """The map of movement, what is known so far while it is computed, and the tables."""

    def spec(movement: Answer[TrainingMovement]) -> FigureSpec:
        return training_movement_figure(movement.result, options.choice(FROM), options.choice(PART), logarithmic)

    def draw(movement: Answer[TrainingMovement]) -> None:
        figure_block(
            spec(movement),
            f"movement from {options.choice(FROM)} {opened.name}",
            movement_frame(movement.result),
            models=[each for each, _ in movement.models],
            explanation=(MOVED.format(rule=BROKEN), library_lines(training_movement, opened, options)),
        )

    movement = answer(training_movement, opened, Options(), lambda so_far: chart(spec(so_far), "training_so_far"))
    _numbers(movement.result)
    draw(movement)
    _tables(movement.result)


def _numbers(movement: TrainingMovement) -> None:
    start = "base to the last checkpoint" if movement.base else "first checkpoint to the last"
    with st.container(horizontal=True):
        st.metric("Checkpoints", f"{len(movement.checkpoints):,}")
        st.metric("Last step", f"{int(movement.steps[-1]):,}")
        st.metric(
            "Moved from the base" if movement.base else "Moved from the first",
            number(float(movement.whole_from_first[-1])),
            help=f"Movement of all parameters from the {start}.",
        )
        st.metric("Never moved", f"{len(movement.frozen):,}", help=f"Of {len(movement.tensors):,} tensors.")
        st.metric("Broken tensors", f"{_broken_count(movement):,}", help=BROKEN)


def _broken_count(movement: TrainingMovement) -> int:
    """Number of broken tensors; one may be so in several ways."""
    return len({each.name for each in movement.broken})


def _tables(movement: TrainingMovement) -> None:
    """Broken tensors with their first step, and those that never moved."""
    if movement.broken:
        first = movement.broken[0]
        what = {"NaN": "holds NaN", "infinity": "holds infinity", "blew up": "blew up"}[first.what]
        others = _broken_count(movement) - 1
        more = f"; {others:,} more {'is' if others == 1 else 'are'} in the table" if others else ""
        text = f"{escape_markdown(first.name)} {what}, first at step {first.step:,}{more}."
        st.warning(text, icon=":material/warning:")
        numbers_table(broken_frame(movement), "Broken tensors")
    else:
        st.success("No tensor holds NaN or infinity, and none blew up.", icon=":material/check_circle:")
    if movement.unread:
        unread = counted(len(movement.unread), "tensor")
        st.caption(f"Skipped, since the number format is not supported: {unread}.")
    if movement.frozen:
        with folded(f"{counted(len(movement.frozen), 'tensor')} that never moved", "checkpoint_frozen"):
            numbers_table(frozen_frame(movement), "Tensors that never moved")


def _two(opened: SharedTraining) -> None:
    """A link that opens any two checkpoints as the models of Compare with base."""
    allowed = server_settings().allowed_models
    named = {each.name: each.checkpoint.name for each in opened.run.checkpoints}
    names = {name: model for name, model in named.items() if not allowed or model in allowed}
    if len(names) < LEAST_CHECKPOINTS:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = select(param("first_checkpoint"), "First checkpoint", list(names), width=WIDTH)
        second = select(param("second_checkpoint"), "Second checkpoint", list(names), list(names)[-1], width=WIDTH)
        query = [("model", names[first]), ("view", "Compare with base"), (OTHER.key, names[second])]
        link = Link("Compare these two checkpoints", address("checkpoint", query))
        step_links([link], "training_two", "The two checkpoints compared")
