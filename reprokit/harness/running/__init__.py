"""Running: from a request to run folders, whole, stopped, resumed or under varied surroundings."""
