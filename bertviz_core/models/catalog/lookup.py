"""Check names and types of models, and suggest a known one for a name that was not found."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from bertviz_core.errors import BertvizError, CheckpointError, ModelNotFoundError
from bertviz_core.isolation.regular_files import CONFIG_FILE, local_folder
from bertviz_core.isolation.sanitized.entries import check_entries
from bertviz_core.models import catalog
from bertviz_core.models.catalog.bundled import BUNDLED
from bertviz_core.models.sentence_folder import STATIC
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import quoted

JOIN = "+"
"""Sign between the name of an adapter and that of a base that is not the one it names."""
NAME_LIMIT = 300
STATIC_TYPES = ("model2vec", "static")
"""Types of models that have no encoder."""
NEAR = 0.75
"""Similarity of two names, 0 to 1, above which one is suggested for the other."""


def check_name(name: str) -> None:
    """Check the length and the characters of a name.

    Raises:
        ModelNotFoundError: it is empty, too long, or contains control characters.
    """
    if not name:
        raise ModelNotFoundError(f"No model was given; give a name such as {DEFAULT_MODEL} or bert-base-uncased.")
    if len(name) > NAME_LIMIT or not name.isprintable():
        raise ModelNotFoundError(
            f"{quoted(name, 40)} is not a valid model name: it is too long or contains control characters."
        )


def split_name(name: str, settings: Settings) -> tuple[str, str | None]:
    """The name of an adapter and that of its base, or the whole name and None; a folder may have the sign in its name.

    Raises:
        ModelNotFoundError: it is a path, but of no folder that may be opened.
    """
    adapter, sign, base = (part.strip() for part in name.partition(JOIN))
    if not sign:
        return name, None
    try:
        if local_folder(name, settings) is not None:
            return name, None
    except ModelNotFoundError:
        with suppress(ModelNotFoundError):
            if local_folder(adapter, settings) is not None:
                return adapter, base
        raise
    return adapter, base


def not_found(name: str, settings: Settings, local: Iterable[str]) -> BertvizError:
    """The error that there is no model with a name, with a suggestion.

    Args:
        name: the name.
        settings: the settings.
        local: names of the models folder.
    """
    hub_note = (
        "; a Hub id is written org/name" if settings.allow_hub else "; the Hub is switched off (INSIDE_BERT_ALLOW_HUB)"
    )
    advice = (
        f": it is not {', '.join(BUNDLED)}, not a folder of {settings.models_dir.name!r} and not in the catalogue "
        f"(bert-base-uncased, roberta-base, ...){hub_note}"
    )
    return with_suggestion(ModelNotFoundError(f"No model {quoted(name)} found{advice}."), name, local)


def with_suggestion(error: BertvizError, name: str, local: Iterable[str]) -> BertvizError:
    """The error with a suggestion, if a similar name exists.

    Args:
        error: the error.
        name: the name that was not found.
        local: names of the models folder.
    """
    known = {known_name.lower(): known_name for known_name in (*local, *catalog.names(), *BUNDLED)}
    whole = name.partition("@")[0].lower()
    near = (get_close_matches(part, known, 1, NEAR) for part in (whole, whole.rpartition("/")[2]))
    suggestion = next((known[each[0]] for each in near if each), "")
    suggested = type(error)(f"{error} Did you mean {quoted(suggestion)}?" if suggestion else str(error))
    suggested.suggestion = suggestion
    return suggested


def check_config(name: str, config: Mapping[str, Any], settings: Settings | None = None) -> None:
    """Check the model type and the entries of a config.

    Raises:
        CheckpointError: the model type is missing or unknown to transformers, or an entry is invalid.
    """
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise CheckpointError(
            f"The {CONFIG_FILE} of {quoted(name)} has no model_type, so the model's family is unknown."
        )
    if not catalog.is_known(model_type):
        if model_type in STATIC_TYPES:
            raise CheckpointError(f"{quoted(name)} is {STATIC}, so there is nothing to look into; open an encoder.")
        custom = " It needs custom code from the Hub, which is never run here." if "auto_map" in config else ""
        raise CheckpointError(
            f"The {CONFIG_FILE} of {quoted(name)} names the model type {quoted(model_type)}, "
            f"which transformers does not know.{custom}"
        )
    check_entries(name, config, settings or Settings.from_environment())
