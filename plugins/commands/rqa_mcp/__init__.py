"""`rqa mcp` gives agents tools to ask, search, check and list documents, over the Model Context Protocol."""
