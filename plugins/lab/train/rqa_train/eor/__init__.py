"""`rqa train eor`: fit the weights of the strategy eor."""
