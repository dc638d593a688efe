"""Plugins: hooks, registry, loading and the project scaffold."""
