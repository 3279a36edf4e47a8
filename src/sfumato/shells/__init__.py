"""The ways in that are not Python: the command line."""
