"""What Sfumato may claim: one file per result, each a function from public constants to a guarantee."""
