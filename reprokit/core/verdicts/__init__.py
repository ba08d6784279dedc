"""When evidence is a proof, and what a row of the checklist is."""
