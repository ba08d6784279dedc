"""What results over seeds are: described, compared and ranked. Pure, on scipy."""
