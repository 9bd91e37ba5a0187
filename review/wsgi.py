"""WSGI entry point, for ``serve`` and for other WSGI servers.

Raises:
    ReviewError: no queue has been set up in ``MEDRCUBE_REVIEW_FOLDER``.
"""

from pathlib import Path

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from medrcube.review.errors import ReviewError
from medrcube.review.server.bootstrap import KEY_FILE, activate_vocabulary_of

if not (Path(settings.FOLDER) / KEY_FILE).is_file():
    raise ReviewError(
        f"{settings.FOLDER}: no queue has been set up here; expected MEDRCUBE_REVIEW_FOLDER to be "
        "WORKSPACE/review; run  medrcube review migrate WORKSPACE  first"
    )
activate_vocabulary_of(Path(settings.FOLDER).parent)
application = get_wsgi_application()
