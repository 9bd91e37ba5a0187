"""Facts to items: question candidates, safe options, quotas, wording."""
