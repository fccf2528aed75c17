"""Posterior sampling: the models as NumPyro programs, checks of the chains, files."""
