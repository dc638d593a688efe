"""The strategies that the papers compare with, each in its own package with its prompts.

They are for comparison: short, faithful to their papers by default, and never chosen automatically.
"""
