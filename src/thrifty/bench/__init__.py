"""A benchmark suite that everybody can run: ``thrifty bench``, or ``python -m thrifty.bench``.

    problems/        data, prices, and the split of each seed
    contenders/      one thin file per method: other packages, and the methods of this one
    race             the same splits, trials, prices and meter for all contenders
    reproductions/   figures and tables of papers, one file each, with a verdict on the paper's claim
    scaling/         time and memory of fits against sizes, and speed of predictions
    claims           what a paper says, and what was found
    runs             one unit of work: a key, and a function that measures
    results          the file of results, one JSON line per run
    runner           computes the runs that are missing in the file
    suite            all problems, reproductions and scaling by name
    tables           a table of a report
    reports/         tables, figures, and one HTML page
    summary          the few figures that are committed, and their comparison with new ones
    guide            which method for which data and budget
    command          the command line

Nothing else in the package imports this folder, except its command in ``thrifty.cli``.
"""
