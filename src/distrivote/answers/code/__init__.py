"""Programs as answers: where a program stands in a reply, and when two of them behave the same."""
