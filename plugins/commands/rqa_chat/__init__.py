"""`rqa chat` is a conversation in the terminal."""
