"""What the processor's own matrix products would take: the limit of a work that does nothing else."""

from collections.abc import Callable


def layer_products(hidden: int, intermediate: int, tokens: int, layers: int, device: str = "cpu") -> Callable[[], None]:
    """The products of the linear maps of encoder layers with random matrices in float32, without attention itself.

    Args:
        hidden: width of the states.
        intermediate: width inside the feed-forward block.
        tokens: tokens that go through a layer together.
        layers: number of layers that are run.
        device: where they are run.
    """
    import torch

    sizes = ((hidden, hidden),) * 4 + ((hidden, intermediate), (intermediate, hidden))
    pairs = [
        (torch.randn(tokens, inputs, device=device), torch.randn(inputs, outputs, device=device))
        for inputs, outputs in sizes
    ]

    def run() -> None:
        for _ in range(layers):
            for rows, matrix in pairs:
                rows @ matrix

    return run


def share(seconds: float, least_s: float) -> str:
    """How much of the time the products alone would need."""
    return f"{least_s / seconds:.0%} of it are the products alone"
