"""Models of tables with text, categories, booleans, dates and missing values, at the prices of the raw columns."""
