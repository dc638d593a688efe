"""`rqa lint` checks documents: disagreements, near-duplicates, hidden text and instructions aimed at models."""
