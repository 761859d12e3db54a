"""What executes the steps of a run: one process, processes side by side, or any other executor of Dagster."""

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import dagster as dg
from dagster._core.executor.init import InitExecutorContext  # its public name is for annotations alone

from pipelines.processes import this_process
from warehouse import confined

EXECUTORS = {"in_process": dg.in_process_executor, "multiprocess": dg.multiprocess_executor}
WANTED = "TRACEHOUSE_EXECUTOR"
_START = {"forkserver": {"preload_modules": ["pipelines.definitions"]}}
"""Processes for steps are copies of one that has loaded everything: loading takes longer than many a step."""


def wanted_executor() -> dg.ExecutorDefinition:
    """The executor that TRACEHOUSE_EXECUTOR names: `in_process` (the default), `multiprocess`, or MODULE:NAME, as
    `dagster_k8s:k8s_job_executor`. Raises ValueError for a name without an executor.

    Runs of the UI, the schedules and the sensors use it. Those of the command line are executed in its own process.
    """
    name = os.environ.get(WANTED) or "in_process"
    module, _, attribute = name.partition(":")
    if not attribute and name not in EXECUTORS:
        raise ValueError(f"{WANTED}={name}: expected {', '.join(EXECUTORS)} or MODULE:NAME")
    try:
        executor = getattr(import_module(module), attribute) if attribute else EXECUTORS[name]
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{WANTED}={name}: there is no such executor ({error}). Is its package installed?") from None
    if not isinstance(executor, dg.ExecutorDefinition):
        raise ValueError(f"{WANTED}={name}: this is no executor of Dagster")
    return traceable(executor)


def traceable(inner: dg.ExecutorDefinition) -> dg.ExecutorDefinition:
    """The same executor, in runs that tell on which host they are."""
    config_schema: Any = inner.config_schema

    @dg.executor(name=inner.name, config_schema=config_schema, requirements=inner.get_requirements)
    def traceable_executor(context: dg.InitExecutorContext) -> dg.Executor:
        config = dict(context.executor_config)
        if inner is dg.multiprocess_executor:
            config.setdefault("start_method", _START)
        create = inner.executor_creation_fn
        assert create is not None
        return _TraceableExecutor(create(InitExecutorContext(context.job, inner, config, context.instance)))

    return traceable_executor


class _TraceableExecutor(dg.Executor):
    """Writes host and process into the tags of a run, then executes it as the inner executor does."""

    def __init__(self, inner: dg.Executor) -> None:
        self.inner = inner

    @property
    def retries(self) -> Any:
        return self.inner.retries

    @property
    def step_dependency_config(self) -> Any:
        return self.inner.step_dependency_config

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        plan_context.instance.add_run_tags(plan_context.run_id, this_process(plan_context.run_id))
        with confined():
            yield from self.inner.execute(plan_context, execution_plan)
