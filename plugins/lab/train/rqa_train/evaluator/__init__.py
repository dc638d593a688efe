"""Train and convert models. Needs the extra `train` (torch, transformers and scikit-learn)."""
