"""What a verdict can do without, each feature whole in a folder: ``reprokit.feature`` lists them."""
