"""Classes of Inside BERT's own, for families that transformers lacks, since their code is their author's."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from bertviz_core.lazy_imports import import_libraries, transformers

CONFIGS: Mapping[str, str] = {"jina_bert": "JinaBertConfig"}
"""Model type, which is also the name of its module here -> its config class."""
AUTO_CLASSES: Mapping[str, str] = {
    "Model": "AutoModel",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
}
"""End of the name of a class -> the auto class that is to know it."""


@cache
def own_classes() -> Mapping[str, Any]:
    """Name -> class; imports torch and transformers, whose auto classes know them from then on."""
    import_libraries()
    classes = {}
    for model_type, config_name in CONFIGS.items():
        module = import_module(f"{__name__}.{model_type}")
        config_class, stem = getattr(module, config_name), config_name.removesuffix("Config")
        transformers.AutoConfig.register(model_type, config_class, exist_ok=True)
        for name in module.__all__:
            auto_class = getattr(transformers, AUTO_CLASSES[name.removeprefix(stem)])
            classes[name] = getattr(module, name)
            auto_class.register(config_class, classes[name], exist_ok=True)
    return classes
