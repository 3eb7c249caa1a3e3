"""JSON and tool calls as answers: where they are in a reply, when two are the same, votes field by field."""
