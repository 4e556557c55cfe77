"""The contenders of the race, one thin file each."""
