"""The kinds of data, what methods read from them, and the readers of files."""
