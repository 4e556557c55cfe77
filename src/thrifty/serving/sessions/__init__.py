"""Sessions of clients. A session is stored as the answers that it was given; replaying them rebuilds it anywhere.

record.py     what is stored
store.py      where it is stored: SQLite, in memory or in a file that several workers share
live.py       a session of the model, driven by answers
sessions.py   start, answer, look up and end sessions
"""
