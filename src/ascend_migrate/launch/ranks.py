"""PyTorch's torchrun on this machine, with the exit status of the script instead of its own.

torchrun exits with 1 whatever its workers did. Here the status is that of the first worker that failed: its
exit code, or the signal that ended it; a signal to the launcher itself ends it by the same signal.

    python -m ascend_migrate.launch.ranks PROCESSES script|module TARGET ARGUMENTS...
"""

from __future__ import annotations

import os
import signal
import sys


def main(processes: str, kind: str, target: str, *arguments: str) -> int:
    """Runs the target in so many processes. Returns the exit code, or ends by the signal that ended a rank."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import get_args_parser, run

    options = ["--standalone", f"--nproc-per-node={processes}"]
    if kind == "module":
        options.append("--module")
    parsed = get_args_parser().parse_args([*options, target])
    parsed.training_script_args = list(arguments)  # not through argparse, which would drop a "--"
    try:
        run(parsed)
    except ChildFailedError as error:
        _, failure = error.get_first_failure()
        status = _describe(failure.exitcode)
        print(f"ascend-migrate: local rank {failure.local_rank} failed first: {status}", file=sys.stderr)
        if failure.exitcode < 0:
            _end_by(-failure.exitcode)
        return int(failure.exitcode)
    except SignalException as error:
        _end_by(error.sigval)
    except KeyboardInterrupt:
        _end_by(signal.SIGINT)
    return 0


def _describe(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"


def _end_by(number: int) -> None:
    """Ends this process the way the signal would have."""
    sys.stdout.flush()
    sys.stderr.flush()
    if number not in (signal.SIGKILL, signal.SIGSTOP):  # these two cannot be caught, so never were
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
