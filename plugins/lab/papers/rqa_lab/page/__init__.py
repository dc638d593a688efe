"""The report as a web page in one file."""
