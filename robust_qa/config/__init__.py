"""What is configured: layers and their origins, option validation, trust of found files, keys."""
