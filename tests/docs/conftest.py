import sys
from pathlib import Path

# What these tests share stands in a module beside them.
sys.path.insert(0, str(Path(__file__).parent))
