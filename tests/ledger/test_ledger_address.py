"""PostgreSQL addresses: no password is ever printed, a silent server is an error within a stated time."""

from __future__ import annotations

import socket
import threading
import traceback
from contextlib import suppress

import pytest
from ledger_places import gaussian

from sfumato.errors import ArgumentError, LedgerUnavailable, SfumatoError
from sfumato.ledger import Ledger, postgres
from sfumato.ledger.address import Address

ODD = [
    "plain-word",
    "pa#ss",
    "pa?ss",
    "pa%40ss",
    "pa%2Fss%23",
    "a:b:c",
    "=HYPERLINK(1)",
    "p'a\"ss",
    "パスワード",
    "[secret",
    "secret]",
    ";drop",
    "geheim＃1",
    "ab",
]
# What the driver would refuse and quote, or read otherwise than was meant.
UNREADABLE = [
    "postgresql://me:pa/secret@host/db",
    "postgresql://me:pa@secret@host/db",
    "postgresql://me:secret@[::1/db",
    "postgresql://me:secret@host:abc/db",
    "postgresql://me:secret@host/db#x",
    "postgresql://me:secret@host/d@b",
    "postgresql://me:sec ret@host/db",
    "postgresql://me:secret\n@host/db",
    "postgresql://me:secret%@host/db",
    "postgresql://me:secret%zz@host/db",
    "postgresql://host/db?password=secret%zz",
    "postgresql://host/db?password%3Dsecret",
    "postgresql://host/db?secret",
    "postgresql://host/db?secret=1",
    "postgresql:/me:secret@host/db",
    "postgresql:me:secret@host/db",
    "postgresql//me:secret@host/db",
    "POSTGRES me:secret@host/db",
    "sqlite://me:secret@host/db",
    "mysql:me:secret@host/db",
    "host=h user=me password=secret dbname=x",
]


def everything_said(error: BaseException) -> str:
    """Message, repr and the printed traceback, causes included."""
    return "".join([str(error), repr(error), *traceback.format_exception(error)])


@pytest.mark.parametrize("password", ODD)
def test_no_password_is_shown(password, tmp_path):
    """In the repr, in what is shown of the place, and in every error on the way to a server that is not there."""
    url = f"postgresql://me:{password}@/db?host={tmp_path}&sslpassword=another-secret"
    ledger = Ledger(url, witness=tmp_path / "w")
    assert ledger._book.location.shown.startswith("postgresql://me@")
    with pytest.raises(SfumatoError) as caught:
        ledger.names()
    for text in (repr(ledger), repr(ledger._book.location), everything_said(caught.value)):
        for secret in (f":{password}@", "another-secret", *([password] if len(password) > 4 else [])):
            assert secret not in text
    if len(password) < 4:
        assert "left out" in str(caught.value)


@pytest.mark.parametrize("url", UNREADABLE)
def test_what_cannot_be_parsed_is_refused_and_not_quoted(url, tmp_path):
    with pytest.raises(ArgumentError) as caught:
        Ledger(url, witness=tmp_path / "w")
    said = everything_said(caught.value)
    assert "secret" not in said.replace(f"Ledger({url!r}", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://me@host:5432/db", "postgresql://me@host:5432/db"),
        ("postgresql://me:x@[::1]:5432/db", "postgresql://me@[::1]:5432/db"),
        ("postgres://a:1,b:2/db?sslmode=require&password=x", "postgres://a:1,b:2/db?sslmode=require"),
        ("postgresql://u:p%5B@h/db?connect_timeout=2&host=a%20b", "postgresql://u@h/db?host=a%20b"),
    ],
)
def test_what_is_shown_of_an_address(url, shown):
    assert Address.of(url).shown == shown
    assert repr(Address.of(url)) == f"Address({shown!r})"


class Silent:
    """A proxy between a ledger and a server that can stop passing the server's answers on, and keeps every socket open."""

    def __init__(self, path: str) -> None:
        self.path, self.speaks = path, True
        self._lines: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.path)
            self._lines += [client, server]
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                if not answers and b"COMMIT" in data and self.mute_at_commit:
                    self.speaks = False
                if not answers or self.speaks:
                    target.sendall(data)
        except OSError:
            return
        finally:
            if self.speaks:
                target.close()

    mute_at_commit = False

    def close(self) -> None:
        """End every wait, whether or not the ledger and the server have gone; else a later test would hear of open sockets."""
        self._listener.close()
        for line in self._lines:
            with suppress(OSError):  # the other end may have closed it
                line.shutdown(socket.SHUT_RDWR)
            line.close()


@pytest.fixture
def proxied(postgres_place):
    """A ledger behind a proxy."""
    path = f"{postgres_place._server.get_uri().split('host=')[1]}/.s.PGSQL.5432"
    proxy = Silent(path)
    url = f"postgresql://{postgres_place.name}@127.0.0.1:{proxy.port}/postgres?sslmode=disable"
    yield Ledger(url, witness=postgres_place.witness), proxy
    proxy.close()


def test_a_server_that_goes_silent_in_mid_commit(proxied, postgres_place, monkeypatch):
    """The error comes within the stated time; the charge is there or not, and the same id is charged once."""
    ledger, proxy = proxied
    ledger.register("survey", 3.0, 1e-6)
    proxy.mute_at_commit = True
    said = []

    def charge() -> None:
        try:
            ledger.charge("survey", gaussian(0.1), request_id="r1")
        except LedgerUnavailable as error:
            said.append(str(error))

    # In a thread of its own, since the driver alone would wait for ever.
    thread = threading.Thread(target=charge, daemon=True)
    # The wait is short for this charge alone: a busy machine may take as long for what goes before and after it.
    with monkeypatch.context() as hurried:
        hurried.setattr(postgres, "ANSWER_SECONDS", 1.5)
        thread.start()
        thread.join(timeout=20)
    assert len(said) == 1
    assert "did not answer within 1.5 s" in said[0]
    assert "nothing is charged twice" in said[0]
    again = postgres_place.open()
    assert again.charge("survey", gaussian(0.1), request_id="r1").seq == 2
    assert again.spent("survey").charges == 1


def test_a_server_that_never_answers(tmp_path, monkeypatch):
    """A listener that accepts and says nothing."""
    monkeypatch.setattr(postgres, "CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"postgresql://me:secret@127.0.0.1:{listener.getsockname()[1]}/db"
        with pytest.raises(LedgerUnavailable, match="timeout") as caught:
            Ledger.open(url, witness=tmp_path / "w")
    assert "secret" not in everything_said(caught.value)


def test_the_server_itself_limits_a_statement(postgres_place, monkeypatch):
    """So that a lock is freed even where the client has vanished."""
    store = postgres_place.open()._book.store
    with monkeypatch.context() as hurried:
        hurried.setattr(postgres, "STATEMENT_SECONDS", 0.2)
        with pytest.raises(LedgerUnavailable, match="statement timeout"), store.reading() as view:
            view.value("SELECT pg_sleep(5)")
    with store.writing() as view:
        assert view.value("SHOW idle_in_transaction_session_timeout") == "40s"
        assert view.value("SHOW lock_timeout") == "30s"


@pytest.mark.parametrize(
    "where", ["/", "~nosuchuser/x.db", "a\0b", b"budget.db", 5, None, "", "sqlite:///", "\udcff.db"]
)
def test_a_place_that_is_none_is_refused_in_a_sentence(where):
    with pytest.raises(ArgumentError):
        Ledger.open(where)


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(ArgumentError, match="files"):
        Ledger.open(tmp_path)


@pytest.mark.parametrize("name", [[], 5, None])
def test_a_name_that_is_no_text_is_refused_in_a_sentence(name, sqlite_place):
    with pytest.raises(ArgumentError, match="printable text"):
        sqlite_place.open().spent(name)


@pytest.mark.parametrize("name", ["s\ufe0f", "s\u034f", "\u3164", "a" * 201, " ", "a\nb"])
def test_a_name_with_invisible_characters_is_refused(name, sqlite_place):
    with pytest.raises(ArgumentError, match="printable text"):
        sqlite_place.open().register(name, 1.0, 1e-6)


def test_a_secret_that_begins_with_another_is_hidden_as_a_whole():
    address = Address.of("postgresql://me:open-sesame@host/books?sslpassword=open-sesame-and-close")
    assert address.redacted("bad key open-sesame-and-close, or open-sesame") == "bad key ***, or ***"
    assert address.redacted(f"cannot reach {address.url}") == "cannot reach ***"
