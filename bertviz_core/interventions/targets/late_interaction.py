"""Target the late-interaction score of a document for a query, which is constant."""

from collections.abc import Mapping, Sequence

from bertviz_core.errors import TextError
from bertviz_core.interventions.targets.target import Target, build_target
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.scoring.late_interaction.encoding import InteractionEncoder
from bertviz_core.sentences.encoding import model_states
from bertviz_core.sentences.pooling import applied
from bertviz_core.text import escape_controls, quoted

LATE_INTERACTION = "late-interaction"


def interaction_target(encoder: InteractionEncoder, text: str, query: str) -> Target:
    """Target the sum, over the tokens of a query, of the largest cosine with a token of the text (MaxSim).

    Tokens of the text that the checkpoint does not score, such as punctuation, are left out; a mask in the place of a
    scored token is scored.

    Args:
        encoder: the model (bertviz_core.predictions.scoring.late_interaction.encoding).
        text: the document to intervene on.
        query: the query, run once.

    Raises:
        BertvizError: a text cannot be encoded, or the document has no token that is scored.
    """
    plan, loaded, tokens = encoder.plan, encoder.loaded, encoder.document_tokens(text)
    encoded_query = encoder.query(query)
    fixed = torch.tensor(encoded_query.vectors, device=loaded.device)
    own = torch.tensor(encoder.is_scored(tokens.input_ids), device=loaded.device)
    if not bool(own.any()):
        raise TextError(f"No token of the document {quoted(text, 40)} is scored; write a word.")

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        output, mask = model_states(loaded, inputs, lengths, 0, None, inside=False)
        states = output["last_hidden_state"].float()
        vectors = applied(states.reshape(-1, states.shape[-1]), plan.dense).reshape(*states.shape[:2], -1)
        if plan.normalize:
            vectors = torch.nn.functional.normalize(vectors, dim=-1)
        scored = own
        if mask.shape[1] != len(own):  # tokens were dropped
            ids = inputs["input_ids"]
            scored = torch.tensor(encoder.is_scored(ids.cpu().numpy()), device=loaded.device)
        products = (vectors @ fixed.T).masked_fill(~(mask & scored)[..., None], -torch.inf)
        largest = products.amax(dim=1).sum(dim=-1)
        return largest / len(fixed) if plan.mean else largest

    notices = (
        plan.reason,
        *(["The query was cut to the length that the model reads."] if encoded_query.truncated else []),
    )
    title = f"late-interaction score for {quoted(escape_controls(query), 40)}"
    return build_target(loaded, tokens, values, name=LATE_INTERACTION, title=title, unit="(no unit)", notices=notices)
