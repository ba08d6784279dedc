"""A resumed run against the run that was never stopped, of trainers and of unmodified programs."""
