"""Voting kernels: plain arrays over (n_pools, n_trajectories) in, arrays out."""
