"""From the vectors of a sentence's tokens to one: mean, first token, largest values; on a padded batch."""

from typing import TYPE_CHECKING

from bertviz_core.results.sentences import Pooling

if TYPE_CHECKING:
    import torch


def token_mask(lengths: "torch.Tensor", seq: int, skipped: int) -> "torch.Tensor":
    """Which tokens of a padded batch are pooled, (batch, seq) bool: neither padding nor the first `skipped`.

    A sentence that has no more than the skipped tokens keeps its last one, so that something is pooled.
    """
    import torch

    places = torch.arange(seq, device=lengths.device)
    first = torch.clamp(lengths - 1, max=skipped)
    return (places < lengths[:, None]) & (places >= first[:, None])


def pooled(hidden: "torch.Tensor", mask: "torch.Tensor", pooling: Pooling) -> "torch.Tensor":
    """One vector per row, (batch, hidden) float32, from hidden states (batch, seq, hidden) and the mask of token_mask.

    "mean" is the sum of the tokens' vectors over their count, "cls" the first token that counts, "max" the largest
    value of each dimension (Reimers & Gurevych 2019, section 3); "weightedmean" weights a token by its place from 1
    (Muennighoff 2022, section 3), "lasttoken" takes the last one, "mean_sqrt_len_tokens" is the sum over the root of
    the count (sentence-transformers' Pooling). Texts stand at the left of their row, padding at the right.

    Raises:
        ValueError: the pooler's vector is not made from hidden states here.
    """
    if pooling == "pooler":
        raise ValueError("the pooler is run by the model itself")
    import torch

    if pooling == "cls":
        first = mask.int().argmax(dim=1)
        return hidden[range(len(hidden)), first].float()
    if pooling == "lasttoken":
        last = mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1)
        return hidden[range(len(hidden)), last].float()
    states, kept = hidden.float(), mask[:, :, None]
    if pooling == "max":
        return states.masked_fill(~kept, float("-inf")).amax(dim=1)
    # masked_fill, not a product: padding may hold NaN or infinity in some families.
    states, counts = states.masked_fill(~kept, 0.0), mask.sum(dim=1, keepdim=True)
    if pooling == "weightedmean":
        weights = mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)
        return (states * weights[:, :, None]).sum(dim=1) / weights.sum(dim=1, keepdim=True)
    return states.sum(dim=1) / (counts.sqrt() if pooling == "mean_sqrt_len_tokens" else counts)
