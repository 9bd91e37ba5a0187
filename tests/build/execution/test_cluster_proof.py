"""A cluster gives the bytes of this machine, or says why not: workers with other disks or code."""

import shutil

import dask
import numpy as np
import pytest
from cluster_processes import can_mount, running_cluster
from distributed import Client, LocalCluster
from PIL import Image

from medrcube.build.execution.cluster_proof import challenge_workers
from medrcube.build.execution.cluster_run import ClusterRun
from medrcube.build.execution.dask import DaskEngine
from medrcube.build.execution.local import LocalEngine
from medrcube.build.stages.plan import plan_jobs
from medrcube.errors import MedrcubeError

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.thorough]
mounts = pytest.mark.skipif(not can_mount(), reason="a worker with another disk needs unshare")

HOOK = """

def read(image):
    import os
    from medrcube.build import readers
    from medrcube.errors import ReadError
    if os.environ.get("BROKEN_DECODER"):
        raise ReadError("no decoder here", code="unreadable")
    return readers.read(image)
"""


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory):
    """A cluster without workers, whose scheduler all tests share: to start one takes seconds."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def cluster(scheduled):
    """The cluster; a test has the workers that it starts."""
    yield scheduled
    scheduled.kill_workers()


@pytest.fixture
def own_cluster(tmp_path):
    """A cluster whose scheduler a test may kill."""
    (tmp_path / "cluster").mkdir()
    with running_cluster(tmp_path / "cluster") as started:
        yield started


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    return folder


@pytest.fixture
def jobs(toy, raw, write_case):
    for number in range(10, 50):
        write_case(raw, f"m ({number})", seed=number)
    return plan_jobs(toy, raw, list(toy.scan(raw, "flat")))


@pytest.fixture(scope="module")
def rendered_here():
    """Digests of the images of ``jobs``, once they have been rendered without a cluster."""
    return {}


@pytest.fixture
def expected(jobs, rendered_here, tmp_path):
    if not rendered_here:
        rendered_here.update(digests(LocalEngine(1).run(jobs, tmp_path / "local")))
    return rendered_here


def digests(results):
    return {
        job.case.key: [picture.pixel_sha256 for picture in rendered.pictures]
        for job, rendered in results
    }


def run(cluster, jobs, images, before=None):
    """Digests of the images, and the notes."""
    notes = []
    results = {}
    for number, (job, rendered) in enumerate(
        DaskEngine(cluster.address, 2, notes.append).run(jobs, images)
    ):
        if before is not None and number == 1:
            before()
        results[job.case.key] = [picture.pixel_sha256 for picture in rendered.pictures]
        assert all((images / picture.path).is_file() for picture in rendered.pictures)
    return results, notes


@mounts
def test_a_worker_that_writes_to_another_disk_is_set_aside(
    cluster, jobs, expected, images, tmp_path
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cluster.worker(binds=[(images, elsewhere)])
    cluster.worker()
    results, notes = run(cluster, jobs, images)
    assert results == expected
    assert [note for note in notes if "does not see what the client writes" in note]
    assert not list(elsewhere.iterdir())


@mounts
def test_a_worker_with_a_stale_copy_of_the_raw_data_is_set_aside(
    cluster, jobs, raw, expected, images, tmp_path
):
    stale = shutil.copytree(raw, tmp_path / "stale")
    for path in stale.glob("* (*).png"):
        Image.fromarray(255 - np.asarray(Image.open(path))).save(path)
    cluster.worker(binds=[(raw, stale)])
    cluster.worker()
    results, notes = run(cluster, jobs, images)
    assert results == expected
    assert [note for note in notes if "has another file at" in note]


@mounts
def test_a_worker_that_has_only_one_other_file_gives_nothing_of_it(
    cluster, jobs, raw, expected, images, tmp_path, monkeypatch
):
    monkeypatch.setattr("medrcube.build.execution.cluster_run._GRACE", 0.5)  # no other will come
    other = shutil.copytree(raw, tmp_path / "other")
    film = other / "m (33).png"
    pixels = np.asarray(Image.open(film)).copy()
    pixels[0, 0] ^= 255
    Image.fromarray(pixels).save(film)
    cluster.worker(binds=[(raw, other)])
    results = []
    with pytest.raises(MedrcubeError, match=r"no worker is left .* sees another file at .*33"):
        results.extend(DaskEngine(cluster.address, 2).run(jobs, images))
    assert "m (33)" not in digests(results)
    assert digests(results).items() <= expected.items()


def test_a_worker_with_another_encoder_is_set_aside_by_name(cluster, jobs, expected, images):
    cluster.worker(OTHER_DEFLATE="0.0.1")
    cluster.worker()
    results, notes = run(cluster, jobs, images)
    assert results == expected
    assert [note for note in notes if "tcp://" in note and "0.0.1" in note]


def test_a_worker_without_the_package_is_set_aside_by_name(cluster, jobs, expected, images):
    cluster.worker(WITHOUT_MEDRCUBE="1")
    cluster.worker()
    results, notes = run(cluster, jobs, images)
    assert results == expected
    assert [note for note in notes if "has no medrcube" in note]


def test_a_bad_worker_that_joins_late_is_set_aside_too(
    cluster, jobs, expected, images, monkeypatch
):
    monkeypatch.setattr("medrcube.build.execution.cluster_run._LEAST_AHEAD", 2)
    monkeypatch.setattr("medrcube.build.execution.cluster_run._AHEAD", 2)
    monkeypatch.setattr("medrcube.build.execution.cluster_run._TOGETHER", 1)
    monkeypatch.setattr("medrcube.build.execution.cluster_run._LOOK", 0.0)
    cluster.worker()
    results, notes = run(
        cluster, jobs, images, before=lambda: cluster.worker(OTHER_DEFLATE="0.0.1")
    )
    assert results == expected
    assert [note for note in notes if "0.0.1" in note]


def test_a_worker_that_fails_every_case_is_set_aside_and_its_cases_go_to_others(
    cluster, toy, raw, write_case, images, tmp_path
):
    adapter = toy.folder / "adapter.py"
    adapter.write_text(adapter.read_text() + HOOK)
    for number in range(10, 50):
        write_case(raw, f"m ({number})", seed=number)
    jobs = plan_jobs(toy, raw, list(toy.scan(raw, "flat")))
    expected = digests(LocalEngine(1).run(jobs, tmp_path / "local"))
    cluster.worker(BROKEN_DECODER="1")
    cluster.worker()
    results, notes = run(cluster, jobs, images)
    assert results == expected
    assert [note for note in notes if "no decoder here" in note]


def test_a_case_that_no_worker_can_read_stays_a_problem(cluster, jobs, raw, images):
    for path in raw.glob("* (*).png"):
        path.write_bytes(b"no image")
    cluster.worker()
    cluster.worker()
    results = list(DaskEngine(cluster.address, 2).run(jobs, images))
    assert len(results) == len(jobs)
    assert all(rendered.problems for _, rendered in results)


def test_a_scheduler_that_is_killed_ends_the_build_in_one_line(own_cluster, jobs, images):
    own_cluster.worker()
    results = DaskEngine(own_cluster.address, 2).run(jobs, images)
    next(results)
    own_cluster.scheduler.kill()
    with pytest.raises(MedrcubeError, match="the dask scheduler has ended"):
        list(results)


def test_an_address_with_tls_and_no_certificates_says_what_is_missing(jobs, images):
    with pytest.raises(MedrcubeError, match="no certificates are configured"):
        list(DaskEngine("tls://127.0.0.1:1", 2).run(jobs, images))


def test_a_cluster_that_scales_from_zero_starts(jobs, expected, images):
    with LocalCluster(
        n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None
    ) as running:
        running.adapt(minimum=0, maximum=2)
        results, notes = run(running_address(running), jobs, images)
    assert results == expected
    assert notes == ["no worker of the cluster is ready; waiting for one"]


def running_address(running):
    class Named:
        address = running.scheduler_address

    return Named


def test_a_worker_without_the_package_that_joins_late_does_not_end_the_build(
    cluster, jobs, expected, images, monkeypatch
):
    monkeypatch.setattr("medrcube.build.execution.cluster_run._LEAST_AHEAD", 2)
    monkeypatch.setattr("medrcube.build.execution.cluster_run._AHEAD", 2)
    monkeypatch.setattr("medrcube.build.execution.cluster_run._TOGETHER", 1)
    monkeypatch.setattr("medrcube.build.execution.cluster_run._LOOK", 60.0)
    cluster.worker()
    results, _ = run(cluster, jobs, images, before=lambda: cluster.worker(WITHOUT_MEDRCUBE="1"))
    assert results == expected


@mounts
def test_a_worker_that_may_not_write_images_is_set_aside(cluster, jobs, expected, images):
    cluster.worker(read_only=images)
    cluster.worker()
    results, notes = run(cluster, jobs, images)
    assert results == expected
    assert [note for note in notes if "may not write to" in note]


def test_the_last_worker_that_dies_ends_the_build_in_one_line(cluster, jobs, images, monkeypatch):
    monkeypatch.setattr("medrcube.build.execution.cluster_run._PATIENCE", 1.0)
    cluster.worker()
    with Client(cluster.address) as client, challenge_workers(jobs, images) as challenge:
        alone = ClusterRun(client=client, challenge=challenge, images=images, tell=print)
        alone._look()
        cluster.kill_workers()
        with pytest.raises(MedrcubeError, match="no worker came"):
            alone._render_alone(jobs[0])


def test_bad_workers_that_replace_each_other_end_the_build_in_one_line(
    cluster, jobs, images, monkeypatch
):
    monkeypatch.setattr("medrcube.build.execution.cluster_run._IN_A_ROW", 1)
    monkeypatch.setattr("medrcube.build.execution.cluster_run._GRACE", 1e9)
    cluster.worker(OTHER_DEFLATE="0.0.1")
    notes = []

    def replace(note):
        notes.append(note)
        assert len(notes) < 6, notes
        cluster.worker(OTHER_DEFLATE="0.0.1")

    with pytest.raises(MedrcubeError, match=r"no worker is left .* 0\.0\.1"):
        list(DaskEngine(cluster.address, 2, replace).run(jobs, images))


def test_an_address_without_tls_where_encryption_is_required_is_refused_in_one_line(jobs, images):
    with (
        dask.config.set({"distributed.comm.require-encryption": True}),
        pytest.raises(MedrcubeError, match=r"tcp://127\.0\.0\.1:1: .*encryption"),
    ):
        list(DaskEngine("tcp://127.0.0.1:1", 2).run(jobs, images))


def test_the_nonce_of_a_client_that_was_killed_is_removed_by_the_next_build(jobs, images):
    (images / ".nonce-0123456789abcdef0123456789abcdef").write_text("old")
    with challenge_workers(jobs, images) as challenge:
        assert list(images.iterdir()) == [challenge.nonce]
    assert not list(images.iterdir())
