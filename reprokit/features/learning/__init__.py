"""Whether a run learned: its own metrics and, on request, a probe inside its environment."""
