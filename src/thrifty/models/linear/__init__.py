"""Single linear models under a cost penalty."""
