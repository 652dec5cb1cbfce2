"""The benchmark harness behind `make bench`: what the project claims about speed and size, measured.

One module per noun; `run` drives the sections, `subject` is the only module that knows how our own
handler and process are started. Everything runs on 127.0.0.1, bounded in count and time.
"""
