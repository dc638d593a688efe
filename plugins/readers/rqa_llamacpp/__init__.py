"""Reader `llamacpp`: runs llama.cpp in this process. `rqa models` downloads models for it."""
