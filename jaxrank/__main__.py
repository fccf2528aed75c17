"""``python -m jaxrank``: the command line."""

if __name__ == "__main__":
    from jaxrank.cli import main

    main()
