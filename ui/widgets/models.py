"""Fields for models: the first, the second, others; and what a second model shows beside the first."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import TypeVar

import streamlit as st

from bertviz_core.checkpoints.rounding import COPIES, LABELS
from bertviz_core.errors import BertvizError, MissingFilesError, ModelNotFoundError
from bertviz_core.figures.pages import PAGES
from bertviz_core.models.catalog import FINE_TUNED, OFFERED, PREDICTS, SPLADE
from bertviz_core.models.sources import ModelSource, Offer, resolve
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Param, joined_names
from bertviz_core.questions.views.parameters import AS_IT_IS
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import escape_controls, escape_markdown, quoted, short_count, shortened
from ui.address.navigation import (
    EMBEDDINGS,
    arrived,
    layer_to_show,
    source_of,
    view_to_show,
    visit,
    write,
    write_brought,
)
from ui.address.registry import put
from ui.address.widgets import BOUND, select, several
from ui.cache.figures import note, view_in_sight
from ui.cache.models import REMEMBERED_S, forget_unreached, source
from ui.components.frame import view_links
from ui.session import TEACHING_SIZES, look_for_models, model_names, settings, store, stored


@st.cache_resource(max_entries=1, show_spinner=False)
def _reach() -> dict[str, float]:
    """Why the Hub was not reached when it was last asked -> when, by the monotonic clock in seconds; {} if it was."""
    return {}


def lost(reason: str) -> None:
    """Remember that the Hub could not be reached; the sentence is shown in place of a download."""
    _reach().clear()
    _reach()[reason] = monotonic()


def answered() -> None:
    """Forget an earlier failure: the Hub answered, or the reader wants it to be asked again."""
    _reach().clear()
    forget_unreached()


def unreached_reason() -> str:
    """Why the Hub could not be reached a short time ago; "" if it was reached or was not asked since."""
    return next((reason for reason, at in list(_reach().items()) if monotonic() - at < REMEMBERED_S), "")


def is_lost() -> bool:
    """Whether the Hub could not be reached a short time ago."""
    return bool(unreached_reason())


LONGEST_IN_BOX = 22
MOST_OTHERS = 5
"""Most characters of a model's name visible in a closed list of the sidebar, and most models named in a notice."""


def model_name() -> str:
    """The model chosen in the sidebar."""
    return str(st.session_state.get("model") or DEFAULT_MODEL)


def name_below(name: str) -> None:
    """Repeat a name that the closed list above cuts, in full."""
    if len(name) > LONGEST_IN_BOX:
        st.caption(escape_markdown(name))


def complete(key: str, names: Sequence[str]) -> None:
    """Replace a name that was typed into a list of models by the model of the list that it is the beginning of.

    Case does not matter. A name that can be opened, and a Hub id of the form org/name, stay as they are.
    """
    typed = str(stored(key) or "")
    if not typed or typed in names or ("/" in typed and settings().allow_hub) or _is_here(typed):
        return
    begun = [name for name in names if name.casefold().startswith(typed.casefold())]
    begun.sort(key=lambda name: name.casefold() != typed.casefold())
    if begun:
        store(key, begun[0])
        others = f" Others that begin so: {', '.join(begun[1:MOST_OTHERS])}." if begun[1:] else ""
        words = f"There is no model {quoted(typed, 40)}; {begun[0]}, whose name begins so, is opened.{others}"
        st.toast(escape_markdown(words))


def _is_here(name: str) -> bool:
    """Whether a name is that of a model on this machine or in the catalogue; the Hub is not asked."""
    try:
        resolve(name, replace(settings(), allow_hub=False))
    except ModelNotFoundError:
        return False
    except BertvizError as error:  # it is there, and the page says what is wrong with it, but for a run of checkpoints
        return not error.suggestion
    return True


def chosen_task(tasks: Sequence[str]) -> str | None:
    """The task whose class is counted; None for the class of the checkpoint."""
    task = st.session_state.get("task") or st.query_params.get("task") or AS_IT_IS
    return str(task) if task in tasks else None


def model_control(param: Param, first: Sequence[str], own: str) -> str:
    """The name of another model or of what is listed first; any can be typed where all are allowed."""
    options = list(dict.fromkeys((*first, *(name for name in model_names() if name != own))))
    return select(
        param,
        param.label,
        options,
        width=320,
        on_change=complete,
        args=(param.key, options),
        accept_new_options=not settings().allowed_models,
        format_func=param.shown,
        help=f"{param.help[0].upper()}{param.help[1:]}. A folder below the models folder or a Hub id can be typed.",
    )


def models_control(param: Param, first: str) -> str:
    """Names of models, by default some of the catalogue with the chosen one first, behind a button."""
    allowed = settings().allowed_models
    default = [name for name in dict.fromkeys([first, *TEACHING_SIZES]) if not allowed or name in allowed]
    options = list(dict.fromkeys([*default, *model_names()]))
    with st.popover(param.label):
        return joined_names(several(param, "Models", options, default))


MODEL = "model"
"""Key of the widget, and its name in the address."""
BEFORE, SHOWN = "model_before", "model_shown"
"""Session keys: the model that ran before the current one; the model of the last run."""
WORDS = {"ready": "ready", "hub": "Hub", "hub off": "needs the Hub (switched off)", "structure": "structure"}
UNREACHED = "needs the Hub (not reached)"
"""In place of the word for the Hub, after it could not be reached."""
GOOD_AT = {SPLADE: "related words, weak at gaps"}
"""What a bundled model's head predicts well, and what it does not, where the task alone would promise more."""
HELP = (
    "Ready: weights and tokenizer are on this machine. Hub: downloaded when you ask for it. Needs the Hub (switched "
    "off, or not reached): its weights are not on this machine and cannot be downloaded now. For these and for a "
    "structure, parameters, shapes and layers are known, but the model cannot run on a text. Masked words, classes, "
    "tags or answers: what its task head predicts. Choose one, or type a folder below the models folder or a Hub id "
    "such as org/name."
)


def model_select() -> None:
    """Show the list in the sidebar. The address contains only the name of the model."""
    free = not settings().allowed_models
    offered = {offer.name: label(offer) for offer in look_for_models()}
    first = next(iter(offered), DEFAULT_MODEL)
    _follow_address(MODEL, tuple(offered), first)
    st.selectbox(
        "Model",
        list(offered),
        key=MODEL,
        accept_new_options=free,
        format_func=lambda name: offered.get(name, name),
        help=HELP,
        on_change=_take_choice,
        args=(MODEL, tuple(offered), first),
        persist_state="session",
    )
    _name_in_address(MODEL, first)
    shown = str(st.session_state.get(MODEL) or first)
    _remember(shown)
    name_below(shown)


def _take_choice(key: str, names: Sequence[str], default: str) -> None:
    """Take the model that a typed name begins, and write its name into the address."""
    complete(key, names)
    _name_in_address(key, default)


def choose_model(name: str) -> None:
    """Select a model, for callbacks of buttons; the page then runs with it."""
    st.session_state[MODEL] = name


def bundled_instead(key: str, words: str, *bundled: str, why: str | None = None) -> None:
    """Say in one line what the chosen model cannot do, with a button for each bundled model here that can."""
    with st.container(horizontal=True, vertical_alignment="center", key=key):
        st.markdown(f":material/info: {words}", width="content", help=why)
        for name in ready(bundled):
            st.button(
                f"Open {name}",
                key=f"{key}_{name}",
                help=GOOD_AT.get(name),
                icon=":material/arrow_forward:",
                type="tertiary",
                on_click=choose_model,
                args=(name,),
            )


def ready(names: Sequence[str]) -> list[str]:
    """Those of some models that are offered and can run a text here."""
    return [name for name in names if name in model_names(ready=True)]


def ready_model() -> str | None:
    """The first model that can run a text here; None if there is none."""
    return next(iter(model_names(ready=True)), None)


def model_before() -> str | None:
    """The model that was open before the current one and can run a text here; None if there was none."""
    name = stored(BEFORE)
    return None if name is None or name == stored(SHOWN) else str(name)


def label(offer: Offer) -> str:
    """Entry of a model in the list: name, whether it can run here, predictions, number of parameters.

    Long entries are cut at their end, so distinguishing parts come first: of a model that can run, its predictions.
    """
    count = "" if offer.parameters is None else short_count(offer.parameters)
    readiness = UNREACHED if offer.readiness == "hub" and is_lost() else WORDS[offer.readiness]
    about = (readiness, GOOD_AT.get(offer.name) or PREDICTS.get(offer.task, ""))
    parts = (offer.name, *(reversed(about) if offer.readiness == "ready" else about), count)
    return " · ".join(each for each in parts if each)


def _remember(name: str) -> None:
    """Note the model of this run, and the one before it if that can run a text here."""
    shown = stored(SHOWN)
    if shown is not None and shown != name and _has_weights(str(shown)):
        store(BEFORE, shown)
    store(SHOWN, name)


def _has_weights(name: str) -> bool:
    """Whether the weights of a model are on this machine; the Hub is not asked."""
    try:
        return resolve(name, replace(settings(), allow_hub=False)).has_weights
    except BertvizError:
        return False


def _follow_address(key: str, names: Sequence[str], default: str) -> None:
    """Select the model in the address if it has changed, by a link or by Back."""
    named = st.query_params.get(key)
    match source_of(key, None):
        case "address" if named and (named in names or not settings().allowed_models):
            store(key, named)
        case "default":
            store(key, default)
        case _ if stored(key) is None:
            store(key, default)  # so that a field which shows another model follows


def _name_in_address(key: str, default: str) -> None:
    """Write a model's name into the address, unless it is the default."""
    name = str(stored(key) or default)
    write(key, None if name == default else name, None)


NONE, MOST_NAMED = "", 60
"""Value of the list without a second model; most characters of a name in the line of an example."""
SIZES = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads")
"""Sizes in which a model must agree to be the default for a comparison."""
SECOND_HELP = (
    "A second model beside the first: pages that compare show both, all others show the first. Choose one whose "
    "weights are on this machine, or the first rounded to a smaller number format; or type a folder below the models "
    "folder or a Hub id. It is loaded when a page needs it."
)


def second_select() -> None:
    """Show the list of second models in the sidebar; it is empty until the reader chooses one."""
    first, free = model_name(), not settings().allowed_models
    options = [NONE, *(name for name in names_with_weights(first) if name != first), *COPIES]
    _follow_address(OTHER.key, options, NONE)
    st.selectbox(
        "Compare with",
        list(dict.fromkeys((*options, second_name()))),
        key=OTHER.key,
        accept_new_options=free,
        format_func=lambda name: LABELS.get(name, name) or "none",
        help=SECOND_HELP,
        on_change=_take_choice,
        args=(OTHER.key, [*options, *model_names()], NONE),
        persist_state="session",
    )
    name_below(second_name())
    _name_in_address(OTHER.key, NONE)


def second_or_example() -> str:
    """Name of the second model; where none is chosen, one that suits the first, as an example that one line marks."""
    if chosen := second_name():
        return chosen
    name, words = _suitable(model_name())
    named = words.format(f"**{escape_markdown(shortened(escape_controls(LABELS.get(name, name)), MOST_NAMED))}**")
    another = ":gray[Choose another under **Compare with**.]"
    st.markdown(f":material/edit_note: **Example:** compared with {named}. {another}")
    return name


def second_name() -> str:
    """Name of the chosen second model, or of a rounded copy of the first; "" for none."""
    return str(stored(OTHER.key) or NONE)


def names_with_weights(first: str) -> list[str]:
    """Offered models with weights on this machine, and the current one; nothing is loaded."""
    return list(dict.fromkeys((*model_names(ready=True), first)))


def likest(first: str, names: Sequence[str]) -> str:
    """Another model of the same type and sizes, but not the bundled example; "" where there is none."""
    own = _source(first)
    alien = (FINE_TUNED,) if first in OFFERED else (FINE_TUNED, *OFFERED)
    others = [name for name in names if name not in (first, *alien)]
    return next((name for name in others if _are_alike(own, _source(name))), "")


def _source(name: str) -> ModelSource | None:
    """The files of a model; None where its name or its files are wrong, which the page of that model says."""
    try:
        return source(name)
    except BertvizError:
        return None


def _suitable(first: str) -> tuple[str, str]:
    """The model to compare a model with, and what it is, the name in braces; a rounded copy where no other is alike."""
    own, names = _source(first), names_with_weights(first)
    base = own.adapter.base if own is not None and own.adapter is not None else None
    if base is not None and base.has_weights:
        return base.name, "{}, the base of this adapter"
    if like := likest(first, names):
        return like, "{}, of the same type and sizes"
    for name in (FINE_TUNED, DEFAULT_MODEL):
        if name != first and name in names and _are_alike(own, _source(name)):
            return name, "{}, which is bundled"
    return next(iter(COPIES)), "{}"


def _are_alike(first: ModelSource | None, second: ModelSource | None) -> bool:
    """Whether two models agree in type and sizes."""
    if first is None or second is None or first.model_type != second.model_type:
        return False
    return all(first.config.get(size) == second.config.get(size) for size in SIZES)


NAMED = 80
"""Most characters of a model's name in a heading."""


def beside(key: str, show: Callable[[str], None]) -> None:
    """Show a comparison with the second model below a heading; nothing without a second model.

    Where the models cannot be compared, one sentence says why, and the rest of the page stays.
    """
    other = second_name()
    if not other:
        return
    with st.container(key=key):
        st.markdown(f"**Compared with {escape_markdown(shortened(escape_controls(other), NAMED))}**")
        try:
            show(other)
        except MissingFilesError as error:
            are = "are" if error.what == "weights" else "is"
            st.info(
                f"The {error.what} of {escape_markdown(repr(error.model))} {are} not on this machine, so it answers "
                "nothing yet. Choose it as the first model to see what can be done.",
                icon=":material/cloud_off:",
            )
        except BertvizError as error:
            st.info(escape_markdown(str(error)), icon=":material/info:")


VIEW, LAYER = "view", "layer"
WIDTH = 240
"""Pixels of the layer widget."""
LONGEST_SHOWN = 20
T = TypeVar("T", bound=str)


def reads_text(page: str) -> bool:
    """Whether the current view of a page reads the text of the sidebar."""
    without = PAGES[page].views_without_text
    return without is not None and current_view() not in without


def current_view() -> str:
    """Name of the view that the page will show; "" for its first."""
    return str(st.query_params.get(VIEW) or ("" if visit().complete else st.session_state.get(VIEW, "")))


def view_choice(options: Sequence[T]) -> T:
    """The view of a page, by default the first.

    The address names every view but the first. A link to a page without a view opens the one that was open last.
    """
    named = st.query_params.get(VIEW)
    anew = arrived(VIEW) and not visit().complete
    shown = view_to_show(named, st.session_state.get(VIEW), options, anew)
    view = next(option for option in options if option == shown)
    if named is not None and named != view:
        words = f"There is no view {named[:LONGEST_SHOWN]} here; the views are {', '.join(options)}."
        st.toast(escape_markdown(words))
    if view != options[0] and named != view:
        open_view(view)
    elif view == options[0] and named is not None:
        put(VIEW, None)
    st.session_state[VIEW] = view
    view_links(options, view, VIEW, "views")
    note(view=view)
    if (record := view_in_sight()) is not None:
        record.name = view
    return view


def open_view(view: str) -> None:
    """Show another view of the page, as a click in a figure does."""
    put(VIEW, view)


def layer_select(layers: int, default: int = 0, help_text: str | None = None) -> int:
    """A layer of the model, counted from 0; no widget where there is only one."""
    if layers <= 1:
        return 0
    label = f"Layer, 0 to {layers - 1}"
    return int(_select(label, [str(layer) for layer in range(layers)], str(default), help_text))


def state_select(layers: int, help_text: str | None = None) -> int:
    """An entry of `hidden_states`: 0 for the embeddings, then one after each layer; no widget where there is none."""
    if not layers:
        return 0
    options = [EMBEDDINGS, *(str(layer) for layer in range(layers))]
    return options.index(_select(f"After layer, 0 to {layers - 1}", options, options[-1], help_text))


def store_layer(layer: int) -> None:
    """Select a layer, as a click in a figure does."""
    st.session_state[LAYER] = str(layer)


def store_state(entry: int) -> None:
    """Select an entry of `hidden_states`, as a click in a figure does."""
    st.session_state[LAYER] = str(entry - 1) if entry else EMBEDDINGS


def _select(label: str, options: Sequence[str], default: str, help_text: str | None) -> str:
    requested, stored = st.query_params.get(LAYER), st.session_state.get(LAYER)
    layer, absent = layer_to_show(options, default, requested, stored, arrived(LAYER), visit().complete)
    if layer is not None:
        st.session_state[LAYER] = layer
    if absent is not None:
        shown = "the embeddings are" if layer == EMBEDDINGS else f"layer {layer} is"
        words = f"There is no layer {absent[:LONGEST_SHOWN]} here, only {options[0]} to {options[-1]}; {shown} shown."
        st.toast(escape_markdown(words))
    shown = str(st.session_state.get(LAYER, default))
    write_brought(LAYER, None if shown == default else shown)
    return str(st.select_slider(label, options, default, key=LAYER, help=help_text, width=WIDTH, **BOUND))
