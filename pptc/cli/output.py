"""Products on their way out: to a file by rename, or to standard output."""

from __future__ import annotations

from dataclasses import dataclass

from pptc import driver
from pptc.cli.console import Console


@dataclass(frozen=True, slots=True)
class Product:
    """An output in memory. `path` is `-` for standard output; `files` are what it was made from."""

    path: str
    data: bytes
    files: tuple[str, ...] = ()


def write(product: Product, console: Console) -> None:
    """Put a product where it belongs."""
    if product.path == "-":
        console.out.flush()
        console.out.buffer.write(product.data)
        console.out.buffer.flush()
    else:
        driver.write_output(product.path, product.data, product.files)
