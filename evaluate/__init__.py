"""Evaluate any multimodal model on a release, with statistics that hold.

``benchmark`` loads a release, ``models`` reaches a model, ``runner`` asks and keeps every reply,
``scoring`` turns replies into outcomes and metrics, ``report`` shows them. Nothing here needs the
packages that build a benchmark.
"""
