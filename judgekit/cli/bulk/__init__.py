"""Bulk judging: a user's file of any length through a judge, in one process or by Ray, with memory that stays flat.

A file is read twice: once to check every row (`check_source`), once to judge it chunk by chunk; a short one is read
once. Every reply is in a verdict store when its batch returns, whoever made it, so that a killed run goes on where it
was and every row comes out once, in the order of the file.
"""
