"""Configuration: layers and their origins, option validation, trust, keys."""
