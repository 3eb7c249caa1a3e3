"""The paper's tables and figures by name, each defined by a few lines of data on shared code."""
