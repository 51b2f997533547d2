"""The view Prompts: the list, typed queries and a file, prompts of the folder, of a family and of the reader's own.

Covers `bertviz_core/questions/views/vectors/prompts.py`, `ui/views/prompts.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from streamlit.testing.v1 import AppTest

from bertviz_core.models.catalog import bundled_folder
from tests.cli.test_sentences import checkpoint_with_prompts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import chart, printed
from ui.examples import EXAMPLES

MODEL = "all-MiniLM-L6-v2"
ROWS = "Who?\tA man.\t1\nWho?\tA house.\t0\nWhere?\tAt home.\nWhere?\tAt noon.\t0"


pytestmark = pytest.mark.usefixtures("patience")


def page(**query: str) -> AppTest:
    at = opened("sentences", view="Prompts", **query)
    assert not at.exception
    return at


def words(at: AppTest) -> str:
    return " ".join(visible_text(each.value) for each in (*at.markdown, *at.caption, *at.info, *at.warning))


def test_the_first_look_is_the_default_list_with_the_prompts_of_e5() -> None:
    at = page(sentences_prompts_explained="true")
    texts = EXAMPLES["homonyms"][1].splitlines()
    library = SentenceTransformer(str(bundled_folder(MODEL)), device="cpu")
    made = {prompt: library.encode(texts, prompt=prompt) for prompt in ("", "query: ", "passage: ")}
    different = ~np.eye(len(texts), dtype=bool)
    means = [
        (made[one] @ made[other].T)[different].mean()
        for one, other in (("", ""), ("query: ", "passage: "), ("passage: ", "query: "))
    ]
    assert list(chart(at, "sentences_prompts")[0]["x"][:3]) == pytest.approx(means, abs=1e-5)
    assert "as the model card of E5 says" in words(at)
    assert "with which this model was not trained" in words(at)
    assert printed(at.code[-1].value)[1:2] == pytest.approx(means[:1], abs=1e-4)


def test_queries_have_measures_at_first_sight_and_are_written_with_tabs() -> None:
    at = page(prompted="queries with gold")
    assert "With the prompts MRR" in words(at)
    assert at.dataframe[0].value["MRR"].between(0, 1).all()
    at = page(prompted="queries with gold", search_rows=ROWS)
    assert at.dataframe[-1].value["query"].tolist() == ["Who?", "Where?"]
    at = page(prompted="queries with gold", search_rows="one text")
    assert "Line 1 is no query with a document" in visible_text(at.error[0].value)


def test_a_file_is_read_by_its_columns() -> None:
    at = page(prompted="queries with gold", search_from="file")
    assert "This view reads a file" in words(at)
    csv = "question,passage,score\nWho?,A man.,1\nWho?,A house.,0\nWhere?,At home.,1\n"
    at.file_uploader[0].upload("gold.csv", csv.encode(), "text/csv").run()
    assert not at.exception
    assert not at.error
    assert set(at.dataframe[-1].value["document"]) == {"A man.", "At home."}
    assert (at.selectbox(key="search_other").value, at.selectbox(key="search_gold").value) == ("passage", "score")


def test_prompts_of_the_reader_keep_their_last_space() -> None:
    at = page(prompt_pair="my own")
    assert at.text_area(key="query_prompt_text").value == "query: "
    at.text_area(key="query_prompt_text").set_value("find:  ").run()
    assert not at.exception
    table = at.dataframe[0].value
    assert table["prompt of the query"].tolist()[1] == "find:  "
    for key in ("query_prompt_text", "document_prompt_text"):
        at.text_area(key=key).set_value("")
    at.run()
    assert "both are empty" in visible_text(at.error[0].value)


def test_the_folders_own_prompts_and_those_of_a_family_come_first(models_dir: Path) -> None:
    checkpoint_with_prompts(models_dir / "prompted")
    at = page(model="prompted")
    assert at.selectbox(key="prompt_pair").value == "own"
    assert "the river : " in at.dataframe[0].value["prompt of the query"].tolist()
    save_tiny("bert", models_dir / "bge-small-en-v1.5")
    at = page(model="bge-small-en-v1.5")
    assert at.selectbox(key="prompt_pair").value == "BGE"
    assert "with which this model" not in words(at)
    assert "names no prompts, and nothing is put in front of the texts" in words(
        opened("sentences", model="bge-small-en-v1.5")
    )


def test_one_sentence_is_a_sentence() -> None:
    assert "add a second sentence" in words(page(sentences="One."))
