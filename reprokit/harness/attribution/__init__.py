"""Attribution: what changed the numbers, the code or the environment."""
