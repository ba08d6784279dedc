"""State that a resumed program lost: what is reachable, at the same update of a whole and a resumed run."""
