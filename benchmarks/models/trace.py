"""One text of 512 tokens through a model with the shape of BERT base: our trace against eager with all attentions.

Each run has its own process, so that the extra memory is the operating system's own figure.
"""

import json
import statistics
import subprocess
import sys
import tempfile

from benchmarks.timing import PEAK, Row

RUNS = 3
PREPARE = """
import json, sys, tempfile, time
import torch, transformers
from pathlib import Path
transformers.logging.set_verbosity_error()
torch.manual_seed(0)
folder = Path(sys.argv[1])
"""
OURS = (
    PREPARE
    + """
from bertviz_core.models.loading import load_model
from bertviz_core.settings import Settings
from bertviz_core.models.sources import folder_source
from bertviz_core.trace.tokenization import tokenize
from bertviz_core.trace.tokenization import load_tokenizer
from bertviz_core.trace.run import trace
settings = Settings.from_environment(any_folder=True)
source = folder_source("base", folder)
loaded = load_model(source, settings)
tokens = tokenize(load_tokenizer(source, settings), "one two three four " * 200)
short = tokenize(load_tokenizer(source, settings), "one two")
run = lambda: trace(loaded, tokens)
trace(loaded, short)
"""
)
EAGER = (
    PREPARE
    + """
model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
ids = torch.randint(200, 900, (1, 512))
def run():
    with torch.inference_mode():
        return model(ids, output_attentions=True, output_hidden_states=True)
with torch.inference_mode():
    model(ids[:, :8])
"""
)
MEASURE = """
before = peak()
kept = run()
extra = peak() - before
times = []
for _ in range(3):
    kept = None
    start = time.perf_counter()
    kept = run()
    times.append(time.perf_counter() - start)
print(json.dumps([sorted(times)[1], extra]))
"""
CHECKPOINT = """
import sys, torch, transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
torch.manual_seed(0)
transformers.BertModel(transformers.BertConfig(vocab_size=1000)).save_pretrained(sys.argv[1])
words = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "three", "four"])}
backend = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
transformers.PreTrainedTokenizerFast(
    tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
    mask_token="[MASK]", model_max_length=512,
).save_pretrained(sys.argv[1])
"""


def rows() -> list[Row]:
    """Rows of the table for traces."""
    with tempfile.TemporaryDirectory() as folder:
        _python(CHECKPOINT, folder)
        pairs = [(_measured(OURS, folder), _measured(EAGER, folder)) for _ in range(RUNS)]
    ours_s, eager_s = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    ours_mb, eager_mb = (statistics.median(pair[side][1] for pair in pairs) for side in (0, 1))
    work = "trace of 512 tokens, BERT-base shape"
    peer = "eager with attentions"
    return [
        Row(work, f"{ours_s:.2f} s", f"{eager_s:.2f} s {peer}: {ours_s / eager_s:.2f}x", "<= 1.0x", ours_s <= eager_s),
        Row(
            "its extra memory",
            f"{ours_mb:.0f} MB",
            f"{eager_mb:.0f} MB {peer}: {ours_mb / eager_mb:.2f}x",
            "<= 0.5x",
            ours_mb <= eager_mb / 2,
        ),
    ]


def _measured(code: str, folder: str) -> tuple[float, float]:
    seconds, extra = json.loads(_python(code + PEAK + MEASURE, folder).splitlines()[-1])
    return seconds, extra


def _python(code: str, folder: str) -> str:
    return subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True).stdout
