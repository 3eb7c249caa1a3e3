"""Programs as answers: where a program is in a reply, and when two of them behave the same."""
