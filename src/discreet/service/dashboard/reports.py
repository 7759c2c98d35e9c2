"""The privacy reports of experiments and populations, as pages to print and as files."""

import msgspec
from starlette.responses import Response

from discreet.service.dashboard.pages import NOT_CACHED, Visit, page
from discreet.service.messages import PopulationReport, PopulationReportQuery, PrivacyReport

DELTAS = {"1e-5": 1e-5, "1e-6": 1e-6, "1e-9": 1e-9}


def show(visit: Visit) -> Response:
    """Show an experiment's report, or send it as a file."""
    found = visit.control.privacy_report(visit.experiment_id)
    if visit.query.get("form") == "json":
        return _file(found, f"privacy-report-{found.name}.json")
    return page(visit, "report.html", report=found)


def show_population(visit: Visit) -> Response:
    """Show a population's report, or send it as a file."""
    chosen = visit.query.get("delta", "")
    name, query = str(visit.request.path_params["name"]), PopulationReportQuery(DELTAS.get(chosen, 1e-6))
    found = visit.control.population_report(name, query)
    if visit.query.get("form") == "json":
        return _file(found, f"privacy-report-{found.population.name}.json")
    return page(visit, "population-report.html", report=found, deltas=DELTAS)


def _file(report: PrivacyReport | PopulationReport, name: str) -> Response:
    headers = {**NOT_CACHED, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(msgspec.json.format(msgspec.json.encode(report), indent=1), 200, headers, "application/json")
