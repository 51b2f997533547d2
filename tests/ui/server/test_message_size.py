"""Every figure is sent completely: no message refers to a cached one. Covers `.streamlit/config.toml`."""

import tomllib
from pathlib import Path

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

CONFIG = Path(__file__).parents[3] / ".streamlit" / "config.toml"


def test_no_message_is_so_large_that_it_is_referred_to() -> None:
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    assert config["global"]["minCachedMessageSize"] > config["server"]["maxMessageSize"] * 1_000_000


def test_why_a_reference_outlives_the_block_that_it_stands_in() -> None:
    """When this fails, Streamlit drops both between two quick runs of a fragment, and the setting may be removed."""
    queue, block, reference = ForwardMsgQueue(), ForwardMsg(), ForwardMsg()
    block.delta.add_block.allow_empty = True
    block.delta.fragment_id = "fragment"
    block.metadata.delta_path[:] = [0, 1]
    reference.ref_hash = "of a figure"
    reference.metadata.delta_path[:] = [0, 1, 0]
    queue.enqueue(block)
    queue.enqueue(reference)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["fragment"])
    assert queue.flush() == [reference]
