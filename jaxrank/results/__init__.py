"""What the calls return, for people: tables, intervals, plots, files."""
