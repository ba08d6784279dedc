"""Attribution: what changed the numbers: the code, the environment, or one commit."""
