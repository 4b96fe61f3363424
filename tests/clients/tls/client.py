"""PyMySQL and MySQL's connector: client.py LABEL VERSION PORT USER CA OTHER-CA

VERSION: TLSv1.2 or TLSv1.3; or name, for a server at 127.0.0.2."""

import contextlib
import io
import ssl
import sys

import mysql.connector
import pymysql
from pymysql import _auth

LABEL, VERSION, PORT, USER, CA, OTHER = sys.argv[1:]


def by_pymysql(host, password, ca, identity):
    context = None
    if ca:
        context = ssl.create_default_context(cafile=ca)
        context.check_hostname = identity
        if VERSION != "name":
            context.minimum_version = context.maximum_version = ssl.TLSVersion[VERSION.replace(".", "_")]
    return pymysql.connect(host=host, port=int(PORT), user=USER, password=password, ssl=context, ssl_disabled=not ca)


def by_connector(host, password, ca, identity):
    options = {"ssl_disabled": True}
    if ca:
        options = {"ssl_ca": ca, "ssl_verify_cert": True, "ssl_verify_identity": identity}
        if VERSION != "name":
            options["tls_versions"] = [VERSION]
    # Pure Python: the C library is what MySQL's own client has.
    return mysql.connector.connect(host=host, port=int(PORT), user=USER, password=password, use_pure=True, **options)


def log_in(host="localhost", password="pw", ca=CA, identity=True, way=None):
    connect = by_pymysql if LABEL.endswith("pymysql") else by_connector
    # PyMySQL tells which way the login went.
    _auth.DEBUG = True
    with contextlib.redirect_stdout(io.StringIO()) as told:
        conn = connect(host, password, ca, identity)
    if way and connect is by_pymysql:
        assert way in told.getvalue(), told.getvalue()
    cursor = conn.cursor()
    cursor.execute("SELECT %s + 1", (41,))
    assert cursor.fetchall()[0][0] == 42
    cursor.execute("SHOW STATUS LIKE 'Ssl_version'")
    version = cursor.fetchall()[0][1]
    assert VERSION in (version, "name"), version
    conn.close()


def check(what, error=None, **options):
    """`error`: the number or a part of the text of how the login fails."""
    try:
        log_in(**options)
        got = None
    except (pymysql.Error, mysql.connector.Error, AssertionError) as e:
        got = e
    if error is None:
        good = got is None
    elif isinstance(error, int):
        good = getattr(got, "errno", None) == error or got is not None and got.args[0] == error
    else:
        good = "CERTIFICATE_VERIFY_FAILED" in str(got) and error in str(got)
    print(f"ok {LABEL}: {what}" if good else f"FAIL {LABEL}: {what}: {got!r}")


if VERSION == "name":
    check("another name, not verified", host="127.0.0.2", identity=False)
    check("another name is refused", "IP address mismatch", host="127.0.0.2")
else:
    check(f"{VERSION}: first login, a query", way="plain password via secure connection")
    check(f"{VERSION}: second login", way="succeeded by fast path")
    check(f"{VERSION}: another authority", "issuer certificate", ca=OTHER)
    check(f"{VERSION}: wrong password", 1045, password="wrong")
    check(f"{VERSION}: an account that asks for TLS, without", 1045, ca=None)
