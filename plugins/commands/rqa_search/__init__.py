"""`rqa search` prints the passages that a question would be answered from. It loads no reader."""
