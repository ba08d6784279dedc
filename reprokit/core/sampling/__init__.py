"""Which samples and seeds a training drew from, and whether they follow from the run's seed."""
