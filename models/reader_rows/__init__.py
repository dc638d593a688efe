"""The rows that the packaged reader learnt from first, from published data and made by rules."""
