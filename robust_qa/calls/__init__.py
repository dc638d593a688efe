"""How a component is called: cache, limits, timeouts, retries, validation and trace."""
