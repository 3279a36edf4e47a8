"""Interval methods: the posterior of a model's hidden statistic (a count, a sum) given a release, one file a family.

`table.METHODS` lists which file serves which model. Each file gives a `Reader`: from the released draws and the public
numbers of the plan it computes the ends of an interval, or refuses with a sentence. Intervals, summaries and expected widths
use nothing else. To add an interval method: write the file, and add its line to the table.
"""
