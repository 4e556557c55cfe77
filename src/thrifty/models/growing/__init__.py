"""Growth of trees on binned rows: bins, losses, the search for splits, and what splits pay."""
