from standins.reading import blocks, document, passages, text  # noqa: F401
