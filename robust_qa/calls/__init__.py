"""The call pipeline and its parts."""
