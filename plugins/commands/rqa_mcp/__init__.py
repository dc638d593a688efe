"""`rqa mcp` gives agents the tools `ask`, `search` and those of plugins, over the Model Context Protocol."""
