"""Makes a CUDA use that a conversion left behind fail, where torch without CUDA would let it pass.

On a machine without CUDA most uses of it fail by themselves (``x.cuda()``, ``device="cuda"``). Some do not:
``torch.cuda.amp.autocast()`` and ``GradScaler()`` warn and switch themselves off, ``torch.cuda.manual_seed`` and
``set_rng_state`` wait for a CUDA that never comes, ``torch.cuda.synchronize`` hides behind ``is_available``.
"""

from __future__ import annotations


def install() -> None:
    """Nothing yet."""
