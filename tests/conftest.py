from hypothesis import settings

# A busy machine is no failure: how long things take is measured in benchmarks/, not here.
settings.register_profile("thrifty", deadline=None)
settings.load_profile("thrifty")
