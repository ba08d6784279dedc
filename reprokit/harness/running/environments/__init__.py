"""What a recipe's runs find: image or virtual environment, GPUs, packages, data, places they share."""
