"""For who writes tasks and templates: scaffold, contract checks, wording occasions."""
