"""Job list: every job once, large files first, and few shards in memory at a time."""

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.incremental import job_list
from medrcube.build.incremental.job_list import JobList, NewJobs


class Job:
    """Stand-in for a render job."""

    def __init__(self, shard, place):
        self.shard, self.place = shard, place

    def __repr__(self):
        return f"{self.shard}/{self.place}"


class Store:
    """The jobs of shards of ``cases`` cases; counts loads and the jobs that are alive."""

    def __init__(self, cases):
        self.cases, self.loads, self.alive = cases, [], weakref.WeakSet()

    def load(self, number):
        self.loads.append(number)
        jobs = tuple(Job(number, place) for place in range(self.cases))
        self.alive.update(jobs)
        return jobs

    def list_of(self, sizes):
        """List of the jobs of shards, each with the sizes of its new jobs by position."""
        return JobList(
            [
                NewJobs(number, self.cases, list(new), list(new.values()))
                for number, new in enumerate(sizes)
            ],
            self.load,
        )


@pytest.fixture(autouse=True)
def window(monkeypatch):
    monkeypatch.setattr(job_list, "_WINDOW", 8)


SHARDS = st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 9)), max_size=12)


@given(SHARDS)
def test_every_new_job_is_listed_once_and_no_other(sizes):
    listed = [(job.shard, job.place) for job in Store(4).list_of(sizes)]
    assert sorted(listed) == [(n, place) for n, new in enumerate(sizes) for place in sorted(new)]


@given(SHARDS)
def test_a_slice_holds_the_jobs_of_a_list_at_these_places(sizes):
    jobs = Store(4).list_of(sizes)
    assert list(map(repr, jobs[1:7][1:4])) == [repr(job) for job in jobs][2:5]


def test_jobs_of_few_cases_are_in_order_of_size():
    jobs = Store(4).list_of([{0: 5, 2: 9}, {1: 7, 3: 6}])
    assert list(map(repr, jobs)) == ["0/2", "1/1", "1/3", "0/0"]


def test_the_largest_job_of_many_comes_first():
    sizes = [{0: 1, 1: 2}] * 5 + [{3: 100}] + [{0: 1, 1: 2}] * 5
    assert repr(Store(4).list_of(sizes)[0]) == "5/3"


def test_each_shard_is_loaded_once_and_few_are_in_memory():
    store = Store(4)
    jobs = store.list_of([dict.fromkeys(range(4), 20 - number) for number in range(20)])
    most = 0
    for job in jobs:
        del job
        gc.collect()
        most = max(most, len(store.alive))
    assert sorted(store.loads) == list(range(20))
    assert most <= 2 * 8


def test_shards_with_few_new_jobs_count_with_all_their_cases():
    store = Store(4)
    for job in store.list_of([{0: 1}] * 20):
        del job
    assert sorted(store.loads) == list(range(20))
    gc.collect()
    assert len(store.alive) <= 2 * 8
