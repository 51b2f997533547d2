"""Near duplicates in a corpus: groups of similar rows, one of them open, and downloads of all."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.analysis.results import DuplicateGroups
from bertviz_core.corpus.corpora_folder import EXAMPLE
from bertviz_core.figures.corpus.sizes import duplicates_figure
from bertviz_core.questions.corpora import ALIKE, duplicate_groups
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted
from ui.address.registry import param
from ui.address.widgets import whole
from ui.cache.folders import SharedCorpus
from ui.views.corpus import controls, texts
from ui.views.corpus.manifest import row_table
from ui.widgets.figure_block import chart, explained, figure_block, numbers_table
from ui.widgets.lists.downloads import table_files
from ui.widgets.lists.progress import answer

KEY = "corpus_duplicates"
LISTED, OPENED = 100, 200
"""Most groups that are listed, and most rows of the open one."""


def duplicates_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Groups of near duplicates above a threshold."""
    with row:
        threshold = controls.threshold_select(named.name == EXAMPLE)
    options = Options(values={ALIKE.key: str(threshold)})
    groups = answer(duplicate_groups, named, options, partial(_so_far, named)).result
    model = named.corpus.manifest.model
    extra = len(groups.rows) - len(groups.sizes)
    if not len(groups.sizes):
        st.info(texts.no_duplicates(groups, threshold > controls.LEAST_THRESHOLD), icon=":material/info:")
    else:
        words = figure_block(
            duplicates_figure(groups, named.name),
            f"corpus near duplicates {threshold:g} {named.name} {model}",
            _sizes(groups),
            models=(model,),
        )
        words.markdown(
            f"**{counted(len(groups.sizes), 'group')}** with {counted(len(groups.rows), 'row')}: "
            f"{counted(groups.pairs, 'pair')} of the {groups.searched:,} rows have a cosine of at least {threshold:g}. "
            f"Keeping one row of each group would leave out {counted(extra, 'row')}."
        )
        st.markdown("**The groups, the largest first**")
        numbers_table(_listed(named, groups), "The groups, the largest first", 240)
        listed = f"The {LISTED:,} largest are listed. " if len(groups.sizes) > LISTED else ""
        st.caption(f"{listed}The files have every row of every group.")
        table_files(
            lambda: _members(named, groups), f"{KEY}_rows", f"corpus near duplicate rows {threshold:g} {named.name}"
        )
        chosen = whole(param("group"), "Open group", 1, len(groups.sizes), 1, width=controls.NARROW)
        members = groups.group(chosen - 1)
        numbers_table(row_table(named, members[:OPENED].tolist()), f"The rows of group {chosen}", 240)
    explained(KEY, texts.DUPLICATES, library_lines(duplicate_groups, named, options))


def _so_far(named: SharedCorpus, known: Answer[DuplicateGroups]) -> None:
    """The groups of the rows that are compared."""
    if len(known.result.sizes):
        chart(duplicates_figure(known.result, named.name), f"{KEY}_so_far")
    st.caption("Pairs that are not compared yet are missing.")


def _sizes(groups: DuplicateGroups) -> pd.DataFrame:
    """Number of groups of each size."""
    sizes, counts = np.unique(groups.sizes, return_counts=True)
    return pd.DataFrame({"rows in a group": sizes, "groups": counts})


def _listed(named: SharedCorpus, groups: DuplicateGroups) -> pd.DataFrame:
    """Size and first row of the largest groups."""
    firsts = groups.rows[groups.starts[:LISTED]].tolist()
    frame = row_table(named, firsts).rename(columns={"row": "first row"})
    frame.insert(0, "rows in it", groups.sizes[:LISTED])
    frame.insert(0, "group", range(1, len(firsts) + 1))
    return frame


def _members(named: SharedCorpus, groups: DuplicateGroups) -> pd.DataFrame:
    """Every row of every group, with the number of its group."""
    frame = row_table(named, groups.rows.tolist(), whole=True)
    frame.insert(0, "group", np.repeat(np.arange(1, len(groups.sizes) + 1), groups.sizes))
    return frame
