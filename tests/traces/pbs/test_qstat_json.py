"""What `qstat -f -F json` prints is read job by job where it is no JSON."""

from __future__ import annotations

from traces.pbs.qstat_json import jobs_of_document

JOB = '"{name}.srv":{{"Job_Name":"a","Variable_List":{{"X":{value}}},"job_state":"Q"}}'
HEAD = '{"timestamp":5,"Jobs":{'


def test_a_broken_value_costs_its_variable_and_no_job() -> None:
    jobs = ",\n".join(JOB.format(name=name, value=value) for name, value in ((1, "007"), (2, r'"a\'b"'), (3, '"x"')))
    document = jobs_of_document(f"{HEAD}{jobs}}}}}")
    assert document is not None and document["timestamp"] == 5
    assert list(document["Jobs"]) == ["1.srv", "2.srv", "3.srv"]
    assert {job["job_state"] for job in document["Jobs"].values()} == {"Q"}


def test_a_text_that_ends_early_is_no_document() -> None:
    whole = f"{HEAD}{JOB.format(name=1, value='1')}}}}}"
    assert jobs_of_document(whole) is not None
    assert jobs_of_document(whole[:-20]) is None
    assert jobs_of_document("no jobs") is None
