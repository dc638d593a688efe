"""Judge the answers of a run: claim by claim as RAGChecker does, and as a whole by a language model."""
