"""An analyst's whole way: all commands in order, on bundled and real logs, and whether their answers agree.

`sources.py` lists the logs, `commands.py` the commands, `agreement.py` what must agree. A new log or command is one line there.
"""
