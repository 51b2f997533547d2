"""Download models from the Hub: size, button, and progress on every page."""

from collections.abc import Hashable
from pathlib import Path

import streamlit as st

from bertviz_core.checkpoints.download import HubFiles, download, needed_files
from bertviz_core.errors import BertvizError, Progress, UnreachableHubError
from bertviz_core.models import catalog
from bertviz_core.models.sources import resolve
from bertviz_core.text import bytes_text, escape_markdown
from ui.cache.jobs import Job, board
from ui.session import settings
from ui.widgets.formatting import duration
from ui.widgets.models import hub_reach

POLL_S = 1.0


def offer(name: str) -> None:
    """Show a download button with the size of a model, or the progress of its download.

    Raises:
        UnreachableHubError: the Hub cannot be reached, or could not a short time ago.
        BertvizError: the Hub is switched off or refuses, or has no such model.
    """
    job = board().find(_key(name))
    if job is None:
        if reason := hub_reach.reason():
            raise UnreachableHubError(reason)
        files = needed_files(resolve(name, settings()), settings())
        hub_reach.answered()
        st.button(
            f"Download {bytes_text(files.nbytes)} from the Hub",
            type="primary",
            key="download_model",
            icon=":material/download:",
            help=f"{len(files.files)} files of {files.hub_id}: weights in safetensors, config and tokenizer. They stay "
            "in the Hub's cache on this machine.",
            on_click=_begin,
            args=(name, files),
        )
        entry = catalog.find(name)
        if entry is not None:
            licence = f"Licence: {entry.licence}." if entry.licence else "Its page names no licence."
            st.caption(escape_markdown(f"{entry.title}. {licence}"))
    else:
        _watch(name)


def _key(name: str) -> Hashable:
    """Key of the download job of a model; downloads run one at a time."""
    return "download", name


def _begin(name: str, files: HubFiles) -> None:
    current = settings()

    def work(progress: Progress) -> Path:
        return download(files, current, progress)

    board().start(_key(name), files.nbytes, work, turns="downloads", long=0, caches_itself=True)


@st.fragment(run_every=POLL_S)
def _watch(name: str) -> None:
    job = board().find(_key(name))
    if job is None or job.state == "done":
        board().forget(_key(name))
        st.rerun()
    if job.state == "failed" and job.error is not None:
        if not isinstance(job.error, BertvizError):
            raise job.error
        st.error(escape_markdown(str(job.error)), icon=":material/block:")
        st.button("Try again", key="retry_download", on_click=board().forget, args=(_key(name),))
        return
    if job.state == "stopped":
        board().forget(_key(name))
        st.rerun()
    st.progress(min(job.done / max(job.total, 1), 1.0), text=_words(job))
    st.caption("The download continues while you look at another page.")
    st.button("Cancel", key="stop_download", on_click=job.stop)


def _words(job: Job[Path]) -> str:
    if job.state == "waiting":
        return "Waiting for another download to finish."
    left = "" if job.seconds_left is None else f", about {duration(job.seconds_left)} left"
    return f"{bytes_text(job.done)} of {bytes_text(job.total)}, {bytes_text(job.rate)} per second{left}"
