"""Where no texts are given, the example texts are those whose labels the model's head has."""

import pandas as pd
import pytest

from bertviz_core.models.catalog import EXAMPLE_FOLDER, TEXTS_FILE
from bertviz_core.questions.interventions.effects import listed_examples
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.two_models import answered_columns
from bertviz_core.settings import Settings

TABLE = pd.read_csv(EXAMPLE_FOLDER / TEXTS_FILE)


@pytest.mark.parametrize("checkpoint", [40, 80])
def test_the_head_of_the_example_run_gets_the_texts_that_it_is_tested_on(checkpoint: int) -> None:
    opened = OpenedModel(f"negations/checkpoint-{checkpoint}", Settings.from_environment())
    columns = answered_columns(Options(), opened.source.config)
    assert (columns.texts, columns.gold) == (tuple(TABLE["text"]), tuple(TABLE["label"]))
    examples = listed_examples(opened, Options(values={"target": "class:good"}))
    assert (examples.texts, examples.labels, examples.notices) == (columns.texts, columns.gold, ())


def test_a_head_of_other_classes_gets_the_first_set_and_a_sentence_about_it() -> None:
    opened = OpenedModel("distilbert-base-uncased-finetuned-sst-2-english", Settings.from_environment())
    examples = listed_examples(opened, Options(values={"target": "class:POSITIVE"}))
    assert examples.name == "topics"
    assert "cooking, music, sport, travel, weather" in examples.notices[-1]
    assert listed_examples(opened, Options(values={"target": "cosine"})).notices == ()
