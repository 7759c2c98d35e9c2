"""Sessions in signed cookies, and tokens that tie a form to the browser it was shown in.

A session holds its own id, a key's id and when it ends, never the key. Its signature says that this service wrote it;
the key is looked up at every request, and so is whether somebody has signed out of the session: a copy of the cookie
ends with it. A form's token is derived from the cookie, so a page of another site, which cannot
read the cookie, cannot make one.
"""

import base64
import binascii
import hashlib
import hmac
import secrets

import msgspec

LASTS = 12 * 3600.0
VISIT_COOKIE = "discreet-visit"


class Session(msgspec.Struct, frozen=True):
    """A signed-in key.

    Args:
        id: The session's random id.
        key: The key's id.
        until: When the session ends.
    """

    id: str
    key: str
    until: float


def new_session(key: str, now: float) -> Session:
    """Return a new session.

    Args:
        key: The key's id.
        now: The time.
    """
    return Session(secrets.token_urlsafe(16), key, now + LASTS)


def cookie_name(secure: bool) -> str:
    """Return the session cookie's name. With TLS its prefix makes browsers refuse one that a sibling domain has set."""
    return "__Host-discreet-session" if secure else "discreet-session"


def seal(secret: bytes, session: Session) -> str:
    """Return the cookie's value: the session, and a signature.

    Args:
        secret: The key of signatures.
        session: The session.
    """
    body = _text(msgspec.json.encode(session))
    return f"{body}.{_text(_sign(secret, 'session', body))}"


def unseal(secret: bytes, cookie: str | None, now: float) -> Session | None:
    """Return the session in a cookie, unless it is missing, forged, damaged or over.

    Args:
        secret: The key of signatures.
        cookie: The cookie's value.
        now: The time.

    >>> cookie = seal(b"secret", Session(id="s1", key="k1", until=100.0))
    >>> unseal(b"secret", cookie, now=50.0)
    Session(id='s1', key='k1', until=100.0)
    >>> unseal(b"secret", cookie, now=100.0), unseal(b"another", cookie, now=50.0)
    (None, None)
    """
    body, _, signature = (cookie or "").partition(".")
    try:
        if not hmac.compare_digest(_bytes(signature), _sign(secret, "session", body)):
            return None
        session = msgspec.json.decode(_bytes(body), type=Session)
    except (binascii.Error, UnicodeEncodeError, msgspec.DecodeError):
        return None
    return session if now < session.until else None


def form_token(secret: bytes, cookie: str) -> str:
    """Return the token of forms, for the browser that holds a cookie.

    Args:
        secret: The key of signatures.
        cookie: The cookie's value.
    """
    return _text(_sign(secret, "form", cookie))


def is_form_token(secret: bytes, cookie: str | None, token: str) -> bool:
    """Return True if a form was shown to the browser that sends it.

    Args:
        secret: The key of signatures.
        cookie: The cookie's value.
        token: The form's token.
    """
    return bool(cookie) and hmac.compare_digest(form_token(secret, cookie or "").encode(), token.encode())


def new_visit() -> str:
    """Return a random name for a browser that is not signed in, so that the sign-in form has a token too."""
    return secrets.token_urlsafe(24)


def _sign(secret: bytes, purpose: str, text: str) -> bytes:
    return hmac.digest(secret, f"discreet dashboard {purpose}: {text}".encode(), hashlib.sha256)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
