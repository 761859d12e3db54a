from tests.models.scheduling.conftest import jobs

__all__ = ["jobs"]
