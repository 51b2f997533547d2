"""A page's table and the library's are the same frame.

Covers `bertviz_core/questions/tables/checkpoints.py`.
"""

import numpy as np
import pandas as pd

from bertviz_core import open_model
from bertviz_core.checkpoints.tables import keys_frame
from bertviz_core.parameters.results import parameters_frame
from bertviz_core.tables.typeset import readable

MODEL = "all-MiniLM-L6-v2"


def test_the_counts_of_a_frame_are_the_products_of_its_shapes() -> None:
    ledger = open_model(MODEL).parameters()
    frame = parameters_frame(ledger.data.parameters)
    assert frame["numel"].tolist() == [int(np.prod(shape)) for shape in frame["shape"]]
    assert frame.loc[frame["tied_to"].isna(), "numel"].sum() == ledger.total
    pd.testing.assert_frame_equal(ledger.to_pandas(), frame)


def test_a_table_of_a_page_says_nothing_where_there_is_nothing() -> None:
    report = open_model(MODEL).load_report("masked-lm")
    frame = readable(keys_frame(report.data.rows))
    new = frame[frame["status"] == "new"].iloc[0]
    assert (new["checkpoint_shape"], new["stored_names"]) == ("", "")
    matched = frame[frame["name"].str.endswith("word_embeddings.weight")].iloc[0]
    assert matched["model_shape"] == "(30522, 384)"
    assert matched["stored_names"] == "embeddings.word_embeddings.weight"
    assert frame["numel"].dtype == np.int64
    assert readable(parameters_frame(open_model(MODEL).parameters().data.parameters))["tied_to"].eq("").all()
