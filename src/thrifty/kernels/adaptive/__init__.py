"""Purchases of single rows, decided step by step from what is known about the row.

A row is a `State`. It starts with nothing (`begin`). Each stage chooses a group of columns (`decide`), pays for it
(`pay_stage`) and reads its values (`read_groups`). Batches, sessions and simulated training rows call the same
functions, so that they agree to the last bit. Python calls those of `rows`.

    structures     the arrays of a policy, of its stops and of a state
    memory         the same arrays in blocks of memory
    forests        trees whose nodes are records
    knowledge      values that a row has read, and its scores
    payments       prices of groups, and the payments of a stage
    purchases      what a row buys next, and whether it goes on
    rows           all of this for new rows
    simulation     all of this for training rows, without stopping
    losses         losses of scores
    fitting        masked codes, and the steps of leaves

    d    columns, sorted by group    G    groups of columns that are bought together    S    stages
    s    scores of the predictor     C    candidates: groups that may be bought out of the default order
    b    numbers that describe the belief: probabilities and entropy, or the predicted number

    values[0 : d]                columns; NaN if they are not bought
    values[d : d + b]            belief
    values[d + b : d + b + 2]    number of groups bought, and the spend as a share of the cost of everything
    values[d + b + 2 :]          expected gain of the next group, and its price as a share of the cost of everything
"""
