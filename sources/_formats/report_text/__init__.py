"""Free text of reports: phrases, and whether they are denied."""
