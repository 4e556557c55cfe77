"""Tables of rows on disk or on standard input, read whole to fit on and in chunks to predict.

opening      which reader a path needs
delimited    CSV and its kin: delimiters, byte order marks and compression are found out
parquet      Parquet, through pyarrow
training     the table to fit on: features, target, queries
outputs      predictions, written in chunks to CSV, Parquet or JSON lines

What the cells of a column mean (numbers, dates, categories) is learned from the training table by `TableModel`, and a
table to predict is read by that: text stays text there until the model has it.
"""
