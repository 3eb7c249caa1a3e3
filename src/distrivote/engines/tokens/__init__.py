"""Shared by engines that own the sampling: from logits to tokens, and a trajectory under way."""
