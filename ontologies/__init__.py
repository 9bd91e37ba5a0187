"""ontologies"""
