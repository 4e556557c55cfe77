"""Models of mixed tables: strings, categories, booleans, dates and gaps, at the prices of the raw columns."""
