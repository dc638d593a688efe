"""The strategies that the papers compare with, with their prompts in prompts/NAME.

They are for comparison: short, faithful to their papers by default, and never chosen automatically.
"""
