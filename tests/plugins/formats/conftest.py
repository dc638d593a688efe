from standins.reading import blocks, document, formats_of_plugins, passages, text  # noqa: F401
