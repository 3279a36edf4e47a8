"""Attacks on every procedure of Sfumato, and proof that they see what they should: `make audit` and `make audit-quick`.

`killers` are small attacks, one or more for each procedure; `faults/*.toml` are faults that are planted in the source, each with
the attack or the test that must notice it; `mutation` plants them. docs/audit.md prints what they found.
"""
