"""One text of 512 tokens through a model with the shape of BERT base: our trace against eager with all attentions.

Each run has its own process, so that the extra memory is the operating system's own figure. Both sides end with their
results in the memory of the CPU.
"""

import json
import statistics
import subprocess
import sys
import tempfile

from benchmarks.report import ROOT
from benchmarks.timing import Row, duration

RUNS = 3
PREPARE = """
import json, sys, time
import torch, transformers
from dataclasses import replace
from pathlib import Path
from benchmarks.device import extra_nbytes, finished
transformers.logging.set_verbosity_error()
torch.manual_seed(0)
folder, device = Path(sys.argv[1]), sys.argv[2]
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
settings = replace(Settings.from_environment(any_folder=True), device=device)
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
model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval().to(device)
ids = torch.randint(200, 900, (1, 512)).to(device)
def run():
    with torch.inference_mode():
        output = model(ids, output_attentions=True, output_hidden_states=True)
        return [each.cpu() for each in (*output.attentions, *output.hidden_states)]
with torch.inference_mode():
    model(ids[:, :8])
"""
)
MEASURE = """
extra = extra_nbytes(run, device)
times, kept, whole = [], None, finished(run, device)
for _ in range(3):
    kept = None
    start = time.perf_counter()
    kept = whole()
    times.append(time.perf_counter() - start)
print(json.dumps([sorted(times)[1], extra / 1024**2]))
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


def rows(device: str = "cpu") -> list[Row]:
    """Rows of the table for traces on a device."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(CHECKPOINT, folder)
        pairs = [(_measured(OURS, folder, device), _measured(EAGER, folder, device)) for _ in range(RUNS)]
    ours_s, eager_s = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    ours_mb, eager_mb = (statistics.median(pair[side][1] for pair in pairs) for side in (0, 1))
    work = "trace of 512 tokens, BERT-base shape"
    peer = "eager with attentions"
    copied = "" if device == "cpu" else ", all copied to the CPU as ours is"
    beside = f"{duration(eager_s)} {peer}{copied}: {ours_s / eager_s:.2f}x"
    return [
        Row(work, duration(ours_s), beside, "<= 1.0x", ours_s <= eager_s),
        Row(
            "its extra memory",
            f"{ours_mb:.0f} MB",
            f"{eager_mb:.0f} MB {peer}: {ours_mb / eager_mb:.2f}x",
            "<= 0.5x",
            ours_mb <= eager_mb / 2,
        ),
    ]


def _measured(code: str, folder: str, device: str) -> tuple[float, float]:
    seconds, extra = json.loads(output_of(code + MEASURE, folder, device).splitlines()[-1])
    return seconds, extra


def output_of(code: str, *arguments: str) -> str:
    """Run a program in a new process, so that its peak memory is its own, and return what it prints.

    Raises:
        RuntimeError: the program fails; the message is the end of its errors.
    """
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout
