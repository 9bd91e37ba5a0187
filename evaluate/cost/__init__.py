"""What a run costs: forecast, estimate and budget."""
