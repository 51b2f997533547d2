"""Lines of Python that reproduce the numbers of the page Representations; they run as they are."""

from functools import partial

from bertviz_core.hidden_states.embeddings import NORMS, POSITION_TABLES, part_path
from bertviz_core.hidden_states.results import EmbeddingSum
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.questions.report.model_lines import model_lines
from bertviz_core.trace.results import Trace
from ui.cache.shared_model import SharedModel

RUN = (
    "with torch.inference_mode():\n"
    "    outputs = model(**inputs, output_hidden_states=True)\n"
    "h = outputs.hidden_states\n"
)
VALUES_CODE = "print(h[{entry}][0, :, {first}:{stop}])   # {name}: {shape}\n"
CHANGE_CODE = {
    "change": "print(1 - torch.cosine_similarity(torch.stack(h[1:])[:, 0], torch.stack(h[:-1])[:, 0], dim=-1))\n",
    "input": "print(torch.cosine_similarity(torch.stack(h)[:, 0], h[0], dim=-1))\n",
    "length": "print(torch.stack(h)[:, 0].norm(dim=-1))\n",
}
SIMILARITY_CODE = (
    "v = torch.nn.functional.normalize(h[{entry}][0, {first}:{stop}], dim=-1)\nprint(v @ v.T)   # {name}\n"
)
PATHS_CODE = (
    "picked = {picked}\n"
    "x = torch.stack(h)[:, 0, picked].flatten(0, 1).double()\n"
    "x = x - x.mean(dim=0)\n"
    "_, size, directions = torch.linalg.svd(x, full_matrices=False)\n"
    "directions = directions[:2]\n"
    "peak = directions.gather(1, directions.abs().argmax(dim=1, keepdim=True))\n"
    "print(x @ (directions * peak.sign()).T)   # {states} rows of {count} tokens; two components\n"
    "print((size**2 / (size**2).sum())[:2])    # their shares of the variance\n"
)
POOLER_CODE = (
    "cls = outputs.last_hidden_state[:, 0]\n"
    "with torch.inference_mode():\n"
    "    print(torch.tanh(model.pooler.dense(cls)))   # equals outputs.pooler_output\n"
)
WORD_CODE = (
    "with torch.inference_mode():\n"
    "    first, second = (\n"
    "        torch.stack(model(**tokenizer(text, {input_arguments}), output_hidden_states=True).hidden_states)[:, 0]\n"
    "        for text in ({first!r}, {second!r})\n"
    "    )\n"
    "a, b = first[:, {first_positions}].mean(dim=1), second[:, {second_positions}].mean(dim=1)\n"
    "print(torch.cosine_similarity(a, b, dim=-1))\n"
)


def run_lines(trace: Trace) -> str:
    """Lines that run the model on the text; the lines of a view follow them."""
    return f"{model_lines(SharedModel(trace.model), trace.tokens)}{RUN}"


def input_code(loaded: LoadedModel, parts: EmbeddingSum, first: int, stop: int) -> str:
    """Lines for the norms of the vectors that make up the input, with this model's names of its embedding tables.

    For a family that does more than add rows and normalise them, only the output of the block is printed.
    """
    path = partial(part_path, loaded.model)
    if parts.other is not None or not parts.exact or parts.output.shape != parts.word.shape:
        return f"print(h[0][0, {first}:{stop}].norm(dim=-1))   # what the embedding block hands to layer 0\n"
    lines = ["with torch.inference_mode():", '    word = model.get_input_embeddings()(inputs["input_ids"][0])']
    added = ["word"]
    if parts.position is not None and parts.position_ids is not None:
        ids = parts.position_ids.tolist()
        written = f"range({len(ids)})" if ids == list(range(len(ids))) else str(ids)
        lines.append(f"    position = model.get_submodule({path(POSITION_TABLES)!r}).weight[list({written})]")
        added.append("position")
    if parts.token_type is not None:
        table = f"model.get_submodule({path((family(loaded.model_type).type_table,))!r}).weight"
        lines.append('    types = inputs.get("token_type_ids", torch.zeros_like(inputs["input_ids"]))[0]')
        lines.append(f"    token_type = {table}[types]")
        added.append("token_type")
    lines.append(f"    total = {' + '.join(added)}")
    norm = path(NORMS)
    shown = [*added, "total"] if len(added) > 1 else added
    if norm:
        lines.append(f"    normalised = model.get_submodule({norm!r})(total)")
        shown = [*shown, "normalised"]
    lines.append(f"for vectors in ({', '.join(shown)},):")
    lines.append(f"    print(vectors[{first}:{stop}].norm(dim=-1))   # the last equals h[0][0]")
    return "\n".join([*lines, ""])
