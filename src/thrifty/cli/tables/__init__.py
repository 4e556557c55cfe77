"""Tables of rows in files or on standard input: read whole to fit, in chunks to predict.

table_file       what every reader offers, which reader a path needs, and checks of column names
delimited        reader of CSV and similar text; it detects delimiter, byte order mark and compression
parquet          reader of Parquet, through pyarrow
parquet_folder   reader of a folder of Parquet files with the same columns
outputs          writers of predictions, in chunks, to CSV, Parquet or JSON lines

`TableModel` learns from the training table what the cells of a column mean (numbers, dates, categories). A table to
predict is read accordingly: text stays text until the model gets it.
"""
