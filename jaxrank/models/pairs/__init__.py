"""Models of paired comparisons."""
