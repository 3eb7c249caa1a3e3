"""`python -m distrivote` is the command line."""

from distrivote.cli.main import main

if __name__ == "__main__":
    main()
