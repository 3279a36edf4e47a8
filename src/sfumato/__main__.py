"""`python -m sfumato`, where the command itself is not on the path."""

from sfumato.shells.entry import main

if __name__ == "__main__":
    main()
