"""From another identity webhook to this one: what is installed, what it means here, and what pods would get.

Objects in, values out; nothing is read and nothing is written here.
"""
