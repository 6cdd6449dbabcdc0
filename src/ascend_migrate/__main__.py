"""``python -m ascend_migrate`` and the ``ascend-migrate`` command."""

from __future__ import annotations


def main() -> None:
    from ascend_migrate.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
