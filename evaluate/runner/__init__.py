"""Ask a model every question as fast as the server allows, and store every reply."""
