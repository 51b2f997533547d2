"""Keys of stored vectors: hashes under a secret of the installation (BLAKE2b, RFC 7693).

Without the secret, which never leaves the machine, the files do not reveal whether a guessed sentence is stored.
"""

import hashlib
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from jaxtyping import UInt64

SECRET_FILE, SECRET_NBYTES = "sentence-vectors.key", 32
KEY_NBYTES = 16


def text_key(text: str, fingerprint: bytes) -> bytes:
    """Return the key of a text among vectors of the same computation.

    Args:
        fingerprint: identifier of the computation (bertviz_core.sentences.encoding.fingerprint).
    """
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(raw, digest_size=KEY_NBYTES, key=fingerprint).digest()


def sealed_keys(keys: Sequence[bytes], secret: bytes) -> UInt64[np.ndarray, "keys 2"]:
    """Return the keys as stored in the files, each as two numbers."""
    raw = b"".join(hashlib.blake2b(key, digest_size=KEY_NBYTES, key=secret).digest() for key in keys)
    return np.frombuffer(raw, dtype="<u8").reshape(len(keys), 2)


def installation_secret(folder: Path) -> bytes:
    """Return the secret of a store, 32 bytes readable by its owner only; created on first use."""
    path = folder / SECRET_FILE
    with suppress(FileNotFoundError):
        if len(secret := path.read_bytes()) == SECRET_NBYTES:
            return secret
        path.unlink()
    part = path.with_name(f"{SECRET_FILE}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(SECRET_NBYTES))
        with suppress(FileExistsError):
            os.link(part, path)  # atomic, and only the first of several processes succeeds
    finally:
        part.unlink(missing_ok=True)
    return path.read_bytes()
