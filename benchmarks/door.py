"""The speed of the door: processor time of `import discreet` and of the command line's help, next to numpy alone.

Processor time, because it hardly depends on what else runs. It includes the threads of numpy's OpenBLAS, which wait
actively for about a tenth of a second on a machine with several processors.
"""

import os
import resource
import subprocess
import sys

from benchmarks.rows import Row

TIMES = 7


def cpu(*command):
    """The least processor time of a few runs of a command, in seconds."""
    found = []
    # What was compiled is kept, as it is for users: else every run would measure the compiler.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=kept)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def door():
    """`import discreet`, and `discreet --help`."""
    numpy = cpu(sys.executable, "-c", "import numpy")
    library = cpu(sys.executable, "-c", "import discreet")
    helped = cpu(sys.executable, "-m", "discreet", "--help")
    return [
        Row("import discreet", library, "s CPU", "< 0.25", library < 0.25, "import numpy", library / numpy),
        Row("discreet --help", helped, "s CPU", "< 0.5", helped < 0.5, "import numpy", helped / numpy),
    ]
