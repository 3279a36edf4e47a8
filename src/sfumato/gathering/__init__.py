"""Rows of an unsorted table gathered by person: bounded, reduced or kept together, in memory or in encrypted temporaries.

`people.gather` takes the chunks of a table in any order and returns runs of whole persons. Each person's part of a run is a
function of that person's own rows and of public facts, so that another person's rows change none of it.
"""
