"""A run that is begun and not asked."""

from medrcube.evaluate.runner.begin_run import write_plan
from medrcube.evaluate.runner.plan import plan_run


def begin_run(out, benchmark, model, **how):
    """Write what a run asks, as ``run_evaluation`` does before its first question."""
    plan = plan_run(out, benchmark, model, **how)
    write_plan(out, plan)
    return plan.questions
