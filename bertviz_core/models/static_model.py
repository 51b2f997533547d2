"""A static model as a class of transformers: a table with one vector, or weight, for each token, and no layer.

transformers knows it once it is registered, which needs torch for the class only, not for its config.
"""

import sys
from functools import cache
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.sentence_folder import STATIC_NAMES, STATIC_TYPE
from bertviz_core.text import quoted


@cache
def register() -> None:
    """Tell transformers of the class, once."""

    class StaticConfig(transformers.PreTrainedConfig):
        """The sizes of the table, and which tensors beside it say what row a token has, times which weight."""

        model_type = STATIC_TYPE
        vocab_size: int = 1
        hidden_size: int = 1
        table_rows: int = 1
        mapping: bool = False
        weights: bool = False
        one_weight: bool = False
        num_hidden_layers: int = 0
        pad_token_id: int | None = None

    class StaticModel(transformers.PreTrainedModel):
        """A table whose rows are the hidden states of the tokens, the only ones."""

        config_class = StaticConfig
        base_model_prefix = "static"

        def __init__(self, config: StaticConfig) -> None:
            """Create the table as it is in a file."""
            super().__init__(config)
            self.embedding = torch.nn.Embedding(config.table_rows, config.hidden_size)
            if config.one_weight:
                self.embedding.weight = torch.nn.Parameter(torch.ones(config.table_rows))
            if config.mapping:
                self.embedding.register_buffer("mapping", torch.zeros(config.vocab_size, dtype=torch.int64))
            if config.weights:
                self.embedding.register_parameter("weights", torch.nn.Parameter(torch.ones(config.vocab_size)))
            self.post_init()

        def spread(self, name: str) -> None:
            """Make a row for each token of the table: the one that it is mapped to, times its weight."""
            table = _token_rows(name, self.embedding)
            self.embedding = torch.nn.Embedding(len(table), table.shape[1], device="meta")
            self.embedding.weight = torch.nn.Parameter(table)

        def get_input_embeddings(self) -> "torch.nn.Module":
            """The table."""
            return self.embedding

        def forward(
            self,
            input_ids: "torch.Tensor | None" = None,
            inputs_embeds: "torch.Tensor | None" = None,
            output_hidden_states: bool = False,
            **_: Any,
        ) -> "transformers.modeling_outputs.BaseModelOutput":
            """The rows of the tokens (batch, seq, hidden)."""
            rows = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
            states = (rows,) if output_hidden_states else None
            return transformers.modeling_outputs.BaseModelOutput(last_hidden_state=rows, hidden_states=states)

    transformers.AutoConfig.register(STATIC_TYPE, StaticConfig)
    if sys.modules.get("torch") is not None:  # the process of a tokenizer does without
        from transformers.conversion_mapping import register_checkpoint_conversion_mapping
        from transformers.core_model_loading import WeightRenaming

        transformers.AutoModel.register(StaticConfig, StaticModel)
        register_checkpoint_conversion_mapping(
            STATIC_TYPE, [WeightRenaming(name, own) for name, own in STATIC_NAMES.items()], overwrite=True
        )


def _token_rows(name: str, embedding: "torch.nn.Module") -> "torch.Tensor":
    tensors = {**dict(embedding.named_buffers()), **dict(embedding.named_parameters())}
    table = tensors["weight"].detach()
    table = table[:, None] if table.ndim == 1 else table
    if "mapping" in tensors:
        mapping = tensors["mapping"].long()
        wrong = mapping[(mapping < 0) | (mapping >= len(table))]
        if len(wrong):
            raise CheckpointError(
                f"The static model {quoted(name)} maps a token to row {int(wrong[0]):,} of a table of "
                f"{len(table):,} rows; its files do not belong together."
            )
        table = table[mapping]
    if "weights" in tensors:
        table = table * tensors["weights"].detach()[:, None]
    return table
