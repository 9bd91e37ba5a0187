"""Run any multimodal model on a release and get numbers that can be trusted.

``benchmark`` loads a release, ``models`` reaches a model, ``runner`` asks and keeps every reply,
``scoring`` turns replies into outcomes and metrics, ``report`` shows them. Nothing here needs the
packages that build a benchmark.
"""
