"""What methods are made of: `Fit`, `Ranker`, likelihoods, priors and their fits."""
