"""Words and explanations of pages whose views fill a module."""
