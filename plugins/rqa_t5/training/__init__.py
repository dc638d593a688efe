"""What makes model folders: it needs the extra `train` (torch and transformers)."""
