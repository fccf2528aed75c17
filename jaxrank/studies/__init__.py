"""The public calls: check the input, run the work, return a result."""
