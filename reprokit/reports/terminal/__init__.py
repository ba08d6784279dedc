"""What a person reads on a screen: a report, a comparison, a diagnosis."""
