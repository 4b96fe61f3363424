// mysql2 of Node: client.js LABEL VERSION PORT USER CA OTHER-CA
// VERSION: TLSv1.2 or TLSv1.3; or name, for a server at 127.0.0.2.
const fs = require("fs");
const net = require("net");
const mysql = require("mysql2/promise");

const [label, version, port, user, ca, other] = process.argv.slice(2);

function trust(file, verifyIdentity = true) {
    const only = version === "name" ? {} : { minVersion: version, maxVersion: version };
    return { ca: fs.readFileSync(file), verifyIdentity, ...only };
}

async function logIn(options) {
    const conn = await mysql.createConnection({ host: "localhost", port: Number(port), user, password: "pw", ...options });
    const [[row]] = await conn.execute("SELECT ? + 1 AS answer", [41]);
    const [[status]] = await conn.query("SHOW STATUS LIKE 'Ssl_version'");
    await conn.end();
    if (Number(row.answer) !== 42 || ![status.Value, "name"].includes(version)) {
        throw new Error(`it answers ${row.answer}, by ${status.Value}`);
    }
}

// `error`: the number or a pattern of the text of how the login fails.
async function check(what, error, options) {
    let got;
    try {
        await logIn(options);
    } catch (e) {
        got = e;
    }
    const good = error ? got && (got.errno === error || error instanceof RegExp && error.test(got.message)) : !got;
    console.log(good ? `ok ${label}: ${what}` : `FAIL ${label}: ${what}: ${got && `${got.code} ${got.errno} ${got.message}`}`);
}

(async () => {
    if (version === "name") {
        // mysql2 verifies addresses as if they were localhost, so here is a name that leads to the address.
        const elsewhere = { host: "elsewhere.test", stream: () => net.connect(Number(port), "127.0.0.2") };
        await check("another name, not verified", null, { ...elsewhere, ssl: trust(ca, false) });
        await check("another name is refused", /Host: elsewhere.test. is not in the cert's altnames/, { ...elsewhere, ssl: trust(ca) });
        return;
    }
    await check(`${version}: first login, a query`, null, { ssl: trust(ca) });
    await check(`${version}: second login`, null, { ssl: trust(ca) });
    await check(`${version}: another authority`, /unable to verify the first certificate/, { ssl: trust(other) });
    await check(`${version}: wrong password`, 1045, { ssl: trust(ca), password: "wrong" });
    await check(`${version}: an account that asks for TLS, without`, 1045, {});
})();
