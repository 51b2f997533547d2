"""The page of BertViz with the attention of all heads, which views of attention are measured beside."""

import json
from typing import NamedTuple

from benchmarks.models.trace import output_of

TOKENS = 128
"""Tokens of its text: a page of 512 has 16 times as many weights, 1.6 GB for BERT base."""
PAGE = """
import json, sys, time
import torch, transformers
from bertviz import model_view
from benchmarks.device import finished
transformers.logging.set_verbosity_error()
folder, tokens, device = sys.argv[1], int(sys.argv[2]), sys.argv[3]
model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval().to(device)
ids = torch.randint(5, 900, (1, tokens)).to(device)
def run():
    with torch.inference_mode():
        return model(ids, output_attentions=True).attentions
whole = finished(run, device)
whole()
start = time.perf_counter()
attentions = whole()
ran = time.perf_counter()
page = model_view(attentions, [str(i) for i in ids[0].tolist()], html_action="return").data
print(json.dumps([len(page) / 1e6, ran - start, time.perf_counter() - ran]))
"""


class ModelView(NamedTuple):
    """What that page costs."""

    megabytes: float
    """Size of its HTML."""
    run_s: float
    """Seconds of the model's run, after one before it."""
    write_s: float
    """Seconds to write the HTML."""


def model_view(folder: str, device: str = "cpu") -> ModelView:
    """Run the model of a folder on TOKENS tokens on a device, and write the page in memory."""
    return ModelView(*json.loads(output_of(PAGE, folder, str(TOKENS), device).splitlines()[-1]))
