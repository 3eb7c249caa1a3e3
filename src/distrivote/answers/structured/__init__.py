"""JSON as an answer: where it stands in a reply, when two documents are the same, votes field by field."""
