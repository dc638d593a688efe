"""How the reader is made: rows from text, training, conversion, measurement. `rqa train reader` is the way in."""
