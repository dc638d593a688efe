"""What questions in English ask for, and where English text says it: a library for readers, by patterns and no model.

The host does not import it; readers get at it by the public face (`candidates`, `content_terms`).
"""
