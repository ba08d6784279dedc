"""Signs reports, and says who signed one."""
