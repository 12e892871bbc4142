import re
from pathlib import Path

import pytest
import yaml

from gangline.contract.names import API_VERSION, DEFAULT_SCHEDULER_NAME, KIND, POD_GROUP_LABEL
from tests.docs.pages import PAGES
from tests.support.kustomize import ROOT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_path_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"(?:gangline|scheduler|controller|manifests|docs)/[a-z_/]*(?:\.py)?", text))

    assert len(paths) > 10
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_readme_fits_on_three_screens_and_its_first_gang_is_one() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    group, job = yaml.safe_load_all(example)
    template = job["spec"]["template"]

    assert len(text.splitlines()) < 120
    assert (group["apiVersion"], group["kind"]) == (API_VERSION, KIND)
    assert template["metadata"]["labels"] == {POD_GROUP_LABEL: group["metadata"]["name"]}
    assert template["spec"]["schedulerName"] == DEFAULT_SCHEDULER_NAME
    assert group["spec"]["minMember"] == job["spec"]["parallelism"]
