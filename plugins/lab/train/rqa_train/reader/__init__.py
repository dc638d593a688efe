"""Make the reader's model: rows from text, training, conversion and metrics. Used by `rqa train reader`."""
