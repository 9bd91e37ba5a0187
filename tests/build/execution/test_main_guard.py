import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from medrcube.build.execution.main_guard import require_main_guard
from medrcube.errors import MedrcubeError


def _main(path, text, spec=None):
    path.write_text(text)
    module = ModuleType("__main__")
    module.__file__, module.__spec__ = str(path), spec
    return module


def test_a_script_without_a_guard_may_not_start_workers(tmp_path):
    with pytest.raises(MedrcubeError, match=r'if __name__ == "__main__":'):
        require_main_guard(_main(tmp_path / "script.py", "build()\n"))


def test_a_guarded_script_a_package_and_a_console_may(tmp_path):
    guarded = 'if __name__ == "__main__":\n    build()\n'
    require_main_guard(_main(tmp_path / "script.py", guarded))
    package = SimpleNamespace(name="tool.__main__")
    require_main_guard(_main(tmp_path / "__main__.py", "build()\n", package))
    require_main_guard(ModuleType("__main__"))
    require_main_guard()


def test_the_pool_of_a_script_without_a_guard_is_refused_in_one_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from medrcube.build.execution.local import LocalEngine\nLocalEngine(2).pool()\n"
    )
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 1
    assert f"{script}: has no" in run.stderr.splitlines()[-1]
