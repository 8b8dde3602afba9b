"""Rows of users' files: forms of rows, formats of files, and rows that are read when they are used."""
