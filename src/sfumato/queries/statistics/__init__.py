"""What a release says about the hidden statistic of a family (a count, a sum), one file a family.

`table.METHODS` lists which file serves which family. Each file gives a `Reader`: from the released draws and the public
numbers of the plan it works out the ends of an interval, or refuses with a sentence. Intervals, summaries and expected widths
use nothing else. To add an interval method: write the file, and add its line to the table.
"""
