"""One request to the dashboard: its key, its form, and what the key may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request

from discreet.service.errors import ServiceProblem
from discreet.service.experiments.control import Control
from discreet.service.messages import KeyView


class Form:
    """The fields of a form. A field that was not sent reads as an empty text.

    Args:
        pairs: Names and values, in the order of the form.

    >>> form = Form([("name", " buttons "), ("scopes", "assign"), ("scopes", "report")])
    >>> form.text("name"), form.text("nothing"), form.all("scopes")
    ('buttons', '', ['assign', 'report'])
    """

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self._pairs = list(pairs)

    def text(self, name: str) -> str:
        """Return the first value of a field, without the spaces around it."""
        return next((value.strip() for key, value in self._pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        """Return every value of a field, such as of ticked boxes."""
        return [value for key, value in self._pairs if key == name]

    def values(self) -> dict[str, str]:
        """Return each field's first value, to be shown again."""
        return {name: self.text(name) for name, _ in self._pairs}

    def __bool__(self) -> bool:
        return bool(self._pairs)


@dataclass(frozen=True)
class Visit:
    """A request with everything that a page needs. Pages are plain functions of it that run in a worker thread.

    Args:
        control: The control plane.
        request: The request.
        now: The time.
        secure: True if cookies are sent over TLS only.
        key: The key that is signed in, if any.
        token: The token of forms on the page.
        form: The form that was posted.
    """

    control: Control
    request: Request
    now: float
    secure: bool
    key: KeyView | None = None
    token: str = ""
    form: Form = field(default_factory=Form)

    @property
    def path(self) -> str:
        """The path of the request."""
        return self.request.url.path

    @property
    def query(self) -> Mapping[str, str]:
        """The query of the request."""
        return self.request.query_params

    @property
    def is_refresh(self) -> bool:
        """True if htmx asks for a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def may_change(self) -> bool:
        """True if the key has the scope `admin`."""
        return self.key is not None and "admin" in self.key.scopes

    @property
    def sees_all(self) -> bool:
        """True if the key is for every experiment, and so for budgets and keys too."""
        return self.key is not None and self.key.experiment is None

    @property
    def experiment_id(self) -> str:
        """The experiment in the path, if this key is for it."""
        wanted = str(self.request.path_params["id"])
        if self.key is not None and self.key.experiment not in (None, wanted):
            raise ServiceProblem(403, "Not with this key", "The key that you signed in with is for another experiment.")
        return wanted


def may_read(key: KeyView) -> bool:
    """Return True if a key opens the dashboard: whoever may change things may also look at them."""
    return "analyse" in key.scopes or "admin" in key.scopes
