"""Shared by engines that do their own sampling: from logits to tokens to a trajectory."""
