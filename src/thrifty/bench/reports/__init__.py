"""Reports of the suite: tables in the terminal, figures, and one HTML page."""
