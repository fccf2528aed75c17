"""Models of choice from sets."""
