"""Classes of Inside BERT's own, for families that transformers lacks, since their code is their author's."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from bertviz_core.lazy_imports import import_libraries, transformers

CONFIGS: Mapping[str, str] = {"jina_bert": "JinaBertConfig", "neo_bert": "NeoBertConfig"}
"""Model type, which is also the name of its module here -> its config class."""
TOWERS: Mapping[str, str] = {
    "metaclip_2_text_model": "MetaClip2TextModel",
    "siglip2_text_model": "Siglip2TextModel",
    "siglip_text_model": "SiglipTextModel",
}
"""Type of a text tower -> its class of transformers, which AutoModel does not have."""
AUTO_CLASSES: Mapping[str, str] = {
    "Model": "AutoModel",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
}
"""End of the name of a class -> the auto class that is to know it."""


@cache
def own_configs() -> Mapping[str, Any]:
    """Model type -> config class; imports transformers, which knows them from then on."""
    import_libraries()
    module = import_module(f"{__name__}.configs")
    classes = {model_type: getattr(module, name) for model_type, name in CONFIGS.items()}
    for model_type, config_class in classes.items():
        transformers.AutoConfig.register(model_type, config_class, exist_ok=True)
    return classes


@cache
def own_classes() -> Mapping[str, Any]:
    """Name -> model class; imports torch and transformers, whose auto classes know them from then on."""
    classes = {}
    for model_type, config_class in own_configs().items():
        module, stem = import_module(f"{__name__}.{model_type}"), CONFIGS[model_type].removesuffix("Config")
        for name in module.__all__:
            auto_class = getattr(transformers, AUTO_CLASSES[name.removeprefix(stem)])
            classes[name] = getattr(module, name)
            auto_class.register(config_class, classes[name], exist_ok=True)
    return classes


@cache
def own_tower(model_type: str) -> None:
    """Tell AutoModel of the class of a text tower; nothing happens for any other type."""
    tower = getattr(transformers, TOWERS.get(model_type, ""), None)
    if tower is not None:
        transformers.AutoModel.register(tower.config_class, tower, exist_ok=True)
