"""The paper's tables and figures by name, each a few lines of data on shared machinery."""
