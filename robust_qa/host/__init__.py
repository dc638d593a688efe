"""Who is there: hooks, the registry, plugin loading and the plugin scaffold."""
