"""`python -m loquent` is the command `loquent`."""

from loquent.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
