"""torch and transformers are imported on first use, and not before."""

import subprocess
import sys
from pathlib import Path

import torch as imported_torch
import transformers as imported_transformers

from bertviz_core import lazy_imports

ROOT = Path(__file__).parents[1]
EVERY_MODULE = """
import importlib, pkgutil, sys
import bertviz_core

for module in pkgutil.walk_packages(bertviz_core.__path__, "bertviz_core."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print([name for name in ("torch", "transformers") if name in sys.modules])
from bertviz_core.lazy_imports import torch, transformers
torch.Tensor
print("torch" in sys.modules, "transformers" in sys.modules)
transformers.AutoModel
print("transformers" in sys.modules)
"""


def test_modules_of_the_library_import_neither_until_a_name_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", EVERY_MODULE], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "True False", "True"], done.stderr


def test_the_names_are_those_of_the_libraries() -> None:
    assert lazy_imports.torch.nn.Linear is imported_torch.nn.Linear
    assert lazy_imports.torch.__version__ == imported_torch.__version__
    assert lazy_imports.transformers.BertModel is imported_transformers.BertModel
