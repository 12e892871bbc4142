from collections.abc import Callable
from pathlib import Path

import pytest

from gangline.base.fatal import StartError
from gangline.contract.meta import Key
from gangline.service.process_settings import HttpAddress, ProcessSettings, lease_key
from gangline.service.settings import SettingsError, load


class Settings(ProcessSettings, frozen=True, kw_only=True):
    http_address: HttpAddress = "127.0.0.1:8081"


def read(*argv: str) -> Settings:
    return load(Settings, argv, {}, program="program", description="")


def test_a_service_gives_the_common_settings_its_own_defaults() -> None:
    assert read() == Settings(
        config="",
        kubeconfig="",
        context="",
        scheduler_name=("gangline",),
        http_address="127.0.0.1:8081",
        lease="auto",
        watch_s=600,
        stale_s=180.0,
        grace_s=20.0,
        log_format="json",
        log_level="info",
    )


@pytest.mark.parametrize("lease", ["on", "/name", "namespace/", "a/b/c", ""])
def test_a_wrong_lease_is_refused(lease: str) -> None:
    with pytest.raises(SettingsError, match="legal is NAMESPACE/NAME, off or auto"):
        read("--lease", lease)


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        pytest.param([], {"GANGLINE_SCHEDULER_NAME": ""}, id="no-name"),
        pytest.param(["--scheduler-name", "gangline", "--scheduler-name", ""], {}, id="a-name-that-is-empty"),
    ],
)
def test_a_scheduler_without_a_name_is_refused(options: list[str], environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="legal is a list of texts, none of them empty, with at least 1"):
        load(Settings, options, environ, program="program", description="")


def test_the_lease_is_named_or_off_or_follows_the_own_namespace(tmp_path: Path) -> None:
    in_cluster = tmp_path / "namespace"
    in_cluster.write_text("gangline-system\n")
    outside = tmp_path / "absent"

    assert lease_key("auto", "gangline-scheduler", namespace_file=in_cluster) == Key(
        "gangline-system", "gangline-scheduler"
    )
    assert lease_key("auto", "gangline-scheduler", namespace_file=outside) is None
    assert lease_key("off", "gangline-scheduler", namespace_file=in_cluster) is None
    assert lease_key("ns/mine", "gangline-scheduler", namespace_file=in_cluster) == Key("ns", "mine")


@pytest.mark.parametrize(
    ("prepare", "problem"),
    [
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_bytes(b"\xff"), "can't decode"),
        (lambda path: path.write_text("\n"), "it is empty"),
    ],
    ids=["unreadable", "no-text", "empty"],
)
def test_an_own_namespace_that_cannot_be_read_is_one_clear_error(
    tmp_path: Path, prepare: Callable[[Path], object], problem: str
) -> None:
    namespace_file = tmp_path / "namespace"
    prepare(namespace_file)

    with pytest.raises(StartError, match=rf"{namespace_file}: .*{problem}.*; name the lease: --lease=NAMESPACE/NAME"):
        lease_key("auto", "gangline-scheduler", namespace_file=namespace_file)
