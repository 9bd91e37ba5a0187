import sys
from pathlib import Path

# What the tests and the command that records share stands in a module beside them.
sys.path.insert(0, str(Path(__file__).parent))
