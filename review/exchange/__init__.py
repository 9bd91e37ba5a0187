"""Import into and export from the queue."""

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
