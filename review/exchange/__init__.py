"""Import into the queue, and export from it."""

__all__ = [
    "errata",
    "export_decisions",
    "freeze_release",
    "human_run",
    "image_store",
    "image_transfer",
    "import_items",
    "labelstudio",
    "remarks",
    "workspace_items",
]
