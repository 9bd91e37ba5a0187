"""Ask a model every question as fast as the server allows, and store every reply."""

__all__ = [
    "attempt",
    "attempt_log",
    "begin_run",
    "completeness",
    "conversations",
    "example_store",
    "image_digests",
    "json_lines",
    "plan",
    "progress_line",
    "question_states",
    "request_builder",
    "run",
    "run_folder",
    "run_session",
    "run_state",
]
