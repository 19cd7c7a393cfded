"""Prints the version of an installed Python package: installed.py PACKAGE. Fails if a file isn't the one that was installed."""

import base64
import hashlib
import importlib.metadata
import sys

distribution = importlib.metadata.distribution(sys.argv[1])
checked = 0
for file in distribution.files or []:
    # pip adds the scripts of commands, whose hashes it records too. Compiled files have no hash.
    if file.hash is None:
        continue
    digest = hashlib.new(file.hash.mode, file.locate().read_bytes()).digest()
    if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
        sys.exit(f"{file} has changed since the installation")
    checked += 1
if not checked:
    sys.exit("no file of the package has a hash")
print(distribution.version)
