"""`rqa testset` writes questions about the user's documents, with near-miss twins that the documents do not answer."""
