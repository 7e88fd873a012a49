"""Every endpoint keeps its published schema, says the numbers of the command line, and refuses in one record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

import featlab
from featlab.experiments.text import experiment_from_text
from featlab.reports.run_records import simulation_record
from tests.explorer.standing_in import HERE, Client, opened
from tests.targets.test_language import HOSTILE

SGD = {"target": "tanh(h1)", "learner": "online-sgd", "dim": 500, "times": "0,1,2", "step_size": "0.5/d"}
ORTHOGONAL = {**SGD, "start": "orthogonal"}


@pytest.fixture(scope="module")
def page() -> Iterator[Client]:
    with opened() as client:
        yield client


@pytest.fixture(scope="module")
def check(page: Client) -> Callable[..., Any]:
    return checker(page.get("/openapi.json").json())


def checker(api: dict[str, Any]) -> Callable[..., Any]:
    """Holds an answer to the published schema of its address, or of a name."""

    def check(answer: Any, path: str = "", method: str = "post", name: str = "") -> Any:
        if name:
            schema: Any = {"$ref": f"#/components/schemas/{name}"}
        else:
            schema = api["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": api["components"]}).validate(answer)
        return answer

    return check


def asked(page: Client, check: Callable[..., Any], path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = page.post(f"/api/v1/{path}", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    return check(response.json(), f"/api/v1/{path}")


def refused(page: Client, check: Callable[..., Any], path: str, body: Any, status: int = 422) -> dict[str, Any]:
    response = page.post(f"/api/v1/{path}", json=body)
    assert response.status_code == status, response.text
    return check(response.json(), name="Refused")["error"]


def test_a_text_and_its_formula(page: Client, check: Callable[..., Any]) -> None:
    found = asked(page, check, "parse", {"text": "He3(h1) + abs(h2)/2"})
    assert found["rank"] == 2
    assert found["text"] == featlab.target("He3(h1) + abs(h2)/2").text
    assert ElementTree.fromstring(found["mathml"]).tag.endswith("math")


def test_a_fault_of_a_text_stands_under_its_characters(page: Client, check: Callable[..., Any]) -> None:
    error = refused(page, check, "parse", {"text": "h1 + reul(h2)"})
    assert error["columns"] == [6, 9]
    assert error["suggestions"] == ["relu"]
    assert "reul" in error["message"]
    assert refused(page, check, "parse", {"text": "1"})["columns"] is None


@pytest.mark.parametrize("text", ["h1^2", "2h1", "3 h1 + h2", "x1 + h2", "2*z_3", "2(h1 + h2)", "(h1 + 1)h2"])
def test_habits_from_elsewhere_are_mended_by_a_suggestion(page: Client, check: Callable[..., Any], text: str) -> None:
    error = refused(page, check, "parse", {"text": text})
    (first, last), (meant,) = error["columns"], error["suggestions"]
    mended = text[: first - 1] + meant + text[last:]
    assert asked(page, check, "parse", {"text": mended})["rank"] >= 1


@pytest.mark.parametrize("text", ["h1 +", "h0", "h1;h2", "qqqq(h1)", "h1 + h99", "sin(h1"])
def test_nothing_is_suggested_where_nothing_is_known(page: Client, check: Callable[..., Any], text: str) -> None:
    assert refused(page, check, "parse", {"text": text})["suggestions"] == []


@pytest.mark.parametrize("path", ["parse", "analyse"])
def test_hostile_texts_are_refused(page: Client, check: Callable[..., Any], path: str) -> None:
    """Those of the parser's own tests; a text that is too long is refused before it is parsed."""
    for text in HOSTILE.values():
        status = 422 if len(text) < 60_000 else 413
        error = refused(page, check, path, {"text" if path == "parse" else "target": text}, status)
        assert error["message"]
        assert "fault of featlab" not in error["message"]


def test_an_analysis_is_that_of_explain(page: Client, check: Callable[..., Any]) -> None:
    found = asked(page, check, "analyse", {"target": "He3(h1)", "noise": 0.1, "dim": 1e6})
    said = featlab.explain("He3(h1)", noise=0.1, dim=1e6).to_dict()
    assert {name: found[name] for name in said} == json.loads(json.dumps(said))
    costs = [cost for group in found["lines"]["costs"] for cost in group["costs"]]
    assert {cost["line"] for cost in costs} <= set(found["sample_cost_details"])
    lines = found["lines"]
    for line in (*costs, *lines["exponents"], *lines["staircases"]):
        assert line["papers"], line["line"]
        assert line["exhibits"], line["line"]
    assert {paper["citation"] for line in lines["staircases"] for paper in line["papers"]} <= {
        paper["citation"] for paper in lines["papers"]
    }
    # Each cost can be drawn against d by what is sent: at the dimension that was asked, it is what is printed.
    against, details = found["against_dim"], found["sample_cost_details"]
    assert (against["dims"][0], against["dims"][-1]) == (10, 10**6)
    sgd = details["one_pass_sgd"]
    assert against["log10_samples"]["one_pass_sgd"][-1] == pytest.approx(sgd["log10_samples"], abs=1e-6)
    assert against["log10_samples"]["one_pass_sgd"][0] == pytest.approx(
        sgd["exponent"] + sgd["power_of_log_d"] * np.log10(np.log(10))
    )
    for line, sizes in against["log10_samples"].items():
        assert (sizes is None) == (details[line]["log10_samples"] is None)


def test_an_analysis_under_a_spike(page: Client, check: Callable[..., Any]) -> None:
    found = asked(page, check, "analyse", {"target": "He3(h1)", "spike": 0.8, "alignment": 0.2})
    inputs = featlab.SpikeLaw(0.8, 0.2)
    assert found["sample_cost"] == featlab.explain("He3(h1)", inputs=inputs).to_dict()["sample_cost"]
    assert refused(page, check, "analyse", {"target": "He3(h1)", "alignment": 0.2})["parameter"] == "alignment"


def test_a_link_on_a_line_and_on_a_plane(page: Client, check: Callable[..., Any]) -> None:
    line = asked(page, check, "link", {"target": "h1*h2", "axes": ["h2"], "fixed": {"h1": 2.0}, "resolution": 5})
    assert line["values"] == pytest.approx([2 * x for x in line["axes"][0]["values"]])
    plane = asked(page, check, "link", {"target": "h1 + h2**2", "axes": ["h1", "h2"], "resolution": 4})
    x = np.array(plane["axes"][0]["values"])
    np.testing.assert_allclose(plane["values"], x[None, :] + x[:, None] ** 2)
    jump = asked(page, check, "link", {"target": "sign(h1)", "axes": ["h1"], "resolution": 6})
    assert jump["values"].count(None) == 1  # nobody draws a line through a jump
    assert refused(page, check, "link", {"target": "h1", "axes": ["h2"]})["parameter"] == "axes"
    assert refused(page, check, "link", {"target": "h1*h2", "axes": ["h1", "h2"], "resolution": 161})["message"]


def test_a_prediction_is_that_of_predict(page: Client, check: Callable[..., Any]) -> None:
    found = asked(page, check, "predict", {"experiment": ORTHOGONAL})["prediction"]
    said = simulation_record(featlab.predict(experiment_from_text(ORTHOGONAL)))
    shown = found.pop("recovery")
    assert found == json.loads(json.dumps(said))
    assert [row[0] for row in shown["values"]] == pytest.approx(np.abs(np.ravel(said["data"]["cosine"]["values"])))
    wrong = simulation_record(featlab.predict(experiment_from_text({**ORTHOGONAL, "step_size": "0.6/d"})))
    assert found != json.loads(json.dumps(wrong))
    draft = asked(page, check, "predict", {"experiment": ORTHOGONAL, "draft": True})
    assert draft["draft"]
    assert "gram" not in draft["prediction"]["data"]
    np.testing.assert_allclose(draft["prediction"]["recovery"]["values"], shown["values"], atol=0.03)


def test_what_theory_does_not_know_is_said(page: Client, check: Callable[..., Any]) -> None:
    assert "no theory" in refused(page, check, "predict", {"experiment": {**SGD, "learner": "adam"}})["message"]
    error = refused(page, check, "predict", {"experiment": {**SGD, "learner": "online-sdg"}})
    assert error["parameter"] == "learner"
    assert error["suggestions"] == ["online-sgd"]
    assert refused(page, check, "predict", {"experiment": {**SGD, "dim": -3}})["parameter"] == "dim"


def test_no_module_of_a_strangers_choice_is_imported(page: Client, check: Callable[..., Any]) -> None:
    for path, more in (("predict", {}), ("take-home", {"what": "simulate"})):
        error = refused(page, check, path, {**more, "experiment": {**SGD, "learner": "antigravity:Fly"}})
        assert error["parameter"] == "learner"
        assert "import" not in error["message"]


def test_lists_keep_their_schemas(page: Client, check: Callable[..., Any]) -> None:
    for name in ("health", "catalogue", "learners", "exhibits"):
        response = page.get(f"/api/v1/{name}")
        assert response.status_code == 200, response.text
        check(response.json(), f"/api/v1/{name}", "get")
    assert len(page.get("/api/v1/catalogue").json()["targets"]) == len(featlab.catalogue)


def test_every_learner_can_be_opened(page: Client) -> None:
    """Its example is an experiment, and what its fields say of themselves is what an experiment knows."""
    for one in page.get("/api/v1/learners").json()["learners"]:
        made = experiment_from_text(one["experiment"])
        assert made.dim
        groups = {"learner": made.learner, "student": made.student}
        for field in one["fields"]:
            assert field["meaning"]
            if field["group"] in groups and one["name"] != "random-features":
                assert hasattr(groups[field["group"]], field["name"]), (one["name"], field)
    kinds = {one["name"]: one for one in page.get("/api/v1/learners").json()["learners"]}["online-sgd"]["fields"]
    by_name = {field["name"]: field for field in kinds}
    assert by_name["step_size"]["kind"] == "step"
    assert by_name["step_size"]["required"]
    assert by_name["width"]["kind"] == "integer"
    assert by_name["loss"]["choices"] == ["squared", "correlation"]
    predictable = {one["name"]: one["predictable"] for one in page.get("/api/v1/learners").json()["learners"]}
    assert predictable["online-sgd"]
    assert not predictable["adam"]


def test_exhibits_can_be_opened(page: Client) -> None:
    found = page.get("/api/v1/exhibits").json()["exhibits"]
    assert len(found) == len(featlab.exhibits.all_exhibits())
    opening = [one for one in found if one["experiment"]]
    assert len(opening) >= 10
    for one in opening:
        experiment_from_text(one["experiment"])


def test_what_is_taken_home(page: Client, check: Callable[..., Any]) -> None:
    found = asked(page, check, "take-home", {"what": "explain", "experiment": {"target": "He3(h1)", "noise": 0.5}})
    assert found["command"] == "featlab explain 'He3(h1)' --noise 0.5"
    scope: dict[str, Any] = {}
    exec(found["python"], scope)  # noqa: S102 - what the explorer wrote
    assert scope["found"].target.noise == 0.5
    for what in ("predict", "simulate", "compare"):
        body = asked(page, check, "take-home", {"what": what, "experiment": SGD})
        assert body["command"].startswith(f"featlab {what} 'tanh(h1)' --learner online-sgd")
        compile(body["python"], what, "exec")
    race = {"target": "h1", "dim": 50, "ratios": "1,2", "entrants": ["sir", "save"], "theory": False}
    command = asked(page, check, "take-home", {"what": "race", "experiment": race})["command"]
    assert command == "featlab race h1 --dim 50 --ratios 1,2 --entrants sir,save --no-theory"
    error = refused(page, check, "take-home", {"what": "explain", "experiment": {"target": "h1", "x); boom(": 1}})
    assert error["parameter"] == "x); boom("


def test_the_page_to_save(page: Client) -> None:
    response = page.post("/api/v1/page", json={"target": "h1"})
    assert response.status_code == 200
    assert response.headers["content-disposition"].startswith("attachment")
    assert "<svg" in response.text
    assert "http://" not in response.text.replace("http://www.w3.org/", "")


def test_the_reference_needs_no_script(page: Client) -> None:
    text = page.get("/docs").text
    assert "<script" not in text
    assert "/api/v1/analyse" in text
    assert "Refused" in text
    assert "http" not in text.replace(HERE, "")


def test_unknown_addresses_and_methods(page: Client, check: Callable[..., Any]) -> None:
    for method, path, status in (("GET", "/api/v1/nothing", 404), ("GET", "/api/v1/parse", 405), ("GET", "/x", 404)):
        response = page.request(method, path)
        assert response.status_code == status
        check(response.json(), name="Refused")
    assert page.get("/static/../app.py").status_code == 404
    assert page.get("/static/%2e%2e/app.py").status_code == 404


def test_the_check_rejects(check: Callable[..., Any]) -> None:
    with pytest.raises(ValidationError):
        check({"schema": "featlab.explorer/1", "text": 3}, "/api/v1/parse")
    with pytest.raises(ValidationError):
        check({"schema": "featlab.explorer/2", "version": "1", "started": "x"}, "/api/v1/health", "get")


def test_every_address_is_documented(page: Client) -> None:
    written = (Path(__file__).parents[2] / "docs" / "explorer-api.md").read_text(encoding="utf-8")
    for path, methods in page.get("/openapi.json").json()["paths"].items():
        for method in methods:
            stem = path.removesuffix("/{what}")
            assert f"`{method.upper()} {stem}" in written, path
