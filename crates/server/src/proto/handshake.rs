//! The packets of the connection phase.

use super::capability::*;
use super::lenenc::{Cursor, Malformed};

/// Length of the challenge that authentication plugins scramble passwords with.
pub const CHALLENGE: usize = 20;
/// The plugin that clients are taken to use if they name none.
pub const NATIVE_PASSWORD: &str = "mysql_native_password";
/// The plugin that the server names first: that of accounts that nothing else is said of.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
/// The plugin of accounts that are users of the operating system.
pub const AUTH_SOCKET: &str = "auth_socket";
/// `caching_sha2_password`: the client's answer was that of a password that the server remembers.
pub const FAST_AUTH_OK: [u8; 2] = [1, 3];
/// `caching_sha2_password`: the client is to send the password itself.
pub const FULL_AUTH: [u8; 2] = [1, 4];
/// The server's default collation, `Collation::DEFAULT`, by its id.
const SERVER_COLLATION: u8 = 255;

/// What a greeting says.
#[derive(Clone, Copy, Debug)]
pub struct Greeting<'a> {
    /// The server's version.
    pub version: &'a str,
    /// Connection id.
    pub id: u32,
    /// Status flags.
    pub status: u16,
    /// Capabilities that are offered.
    pub capabilities: u32,
}

/// Appends the server's greeting (HandshakeV10).
pub fn greeting(out: &mut Vec<u8>, greeting: &Greeting<'_>, challenge: &[u8; CHALLENGE]) {
    let capabilities = greeting.capabilities;
    out.push(10);
    out.extend_from_slice(greeting.version.as_bytes());
    out.push(0);
    out.extend_from_slice(&greeting.id.to_le_bytes());
    out.extend_from_slice(&challenge[..8]);
    out.push(0);
    out.extend_from_slice(&(capabilities as u16).to_le_bytes());
    out.push(SERVER_COLLATION);
    out.extend_from_slice(&greeting.status.to_le_bytes());
    out.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    out.push(CHALLENGE as u8 + 1);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&challenge[8..]);
    out.push(0);
    out.extend_from_slice(CACHING_SHA2_PASSWORD.as_bytes());
    out.push(0);
}

/// Whether a client's first packet is a request for TLS (SSLRequest): the beginning of its answer, and nothing more.
pub fn is_tls_request(payload: &[u8]) -> bool {
    /// Capabilities, longest packet, collation, filler.
    const LENGTH: usize = 32;
    let capabilities = Cursor::new(payload).u32().unwrap_or(0);
    payload.len() == LENGTH && capabilities & (PROTOCOL_41 | SSL) == PROTOCOL_41 | SSL
}

/// Appends a request to use another authentication plugin.
pub fn auth_switch(out: &mut Vec<u8>, plugin: &str, challenge: &[u8; CHALLENGE]) {
    out.push(0xfe);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out.extend_from_slice(challenge);
    out.push(0);
}

/// Appends the server's public key, which a client asked for to encrypt its password.
pub fn public_key(out: &mut Vec<u8>, pem: &str) {
    out.push(1);
    out.extend_from_slice(pem.as_bytes());
}

/// What a client answers to the greeting, or sends with COM_CHANGE_USER.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Login<'a> {
    /// Capabilities both sides have.
    pub capabilities: u32,
    /// Collation id.
    pub collation: u16,
    /// User name.
    pub user: &'a [u8],
    /// The plugin's answer to the challenge.
    pub auth: &'a [u8],
    /// Database to start in.
    pub database: Option<&'a [u8]>,
    /// Plugin that made `auth`.
    pub plugin: &'a [u8],
    /// What the client says of itself: names and values ([`attributes`]).
    pub attributes: &'a [u8],
}

impl<'a> Login<'a> {
    /// Reads a HandshakeResponse41. `secure`: it came over TLS.
    pub fn parse(payload: &'a [u8], secure: bool) -> Result<Login<'a>, Malformed> {
        let mut c = Cursor::new(payload);
        let capabilities = c.u32()?;
        if capabilities & PROTOCOL_41 == 0 || (capabilities & SSL != 0 && !secure) {
            return Err(Malformed);
        }
        let _max_packet = c.u32()?;
        let collation = c.u8()? as u16;
        c.take(23)?;
        let user = c.nul_bytes()?;
        let auth = if capabilities & PLUGIN_AUTH_LENENC != 0 {
            c.lenenc_bytes()?
        } else if capabilities & SECURE_CONNECTION != 0 {
            let n = c.u8()?;
            c.take(n as usize)?
        } else {
            c.nul_bytes()?
        };
        let capabilities = capabilities & SERVER;
        let database = if capabilities & CONNECT_WITH_DB != 0 {
            Some(c.nul_or_rest()).filter(|db| !db.is_empty())
        } else {
            None
        };
        let plugin = if capabilities & PLUGIN_AUTH != 0 {
            c.nul_or_rest()
        } else {
            NATIVE_PASSWORD.as_bytes()
        };
        let attributes = match capabilities & CONNECT_ATTRS {
            0 => &[],
            // Nothing depends on them: what is wrong with them is no reason to refuse anybody.
            _ => c.lenenc_bytes().unwrap_or_default(),
        };
        Ok(Login {
            capabilities,
            collation,
            user,
            auth,
            database,
            plugin,
            attributes,
        })
    }

    /// Reads a COM_CHANGE_USER without its command byte.
    pub fn parse_change_user(payload: &'a [u8], capabilities: u32) -> Result<Login<'a>, Malformed> {
        let mut c = Cursor::new(payload);
        let user = c.nul_bytes()?;
        let auth = if capabilities & SECURE_CONNECTION != 0 {
            let n = c.u8()?;
            c.take(n as usize)?
        } else {
            c.nul_bytes()?
        };
        let database = Some(c.nul_or_rest()).filter(|db| !db.is_empty());
        let collation = if c.is_empty() { 0 } else { c.u16()? };
        let plugin = if capabilities & PLUGIN_AUTH != 0 && !c.is_empty() {
            c.nul_or_rest()
        } else {
            NATIVE_PASSWORD.as_bytes()
        };
        Ok(Login {
            capabilities,
            collation,
            user,
            auth,
            database,
            plugin,
            attributes: &[],
        })
    }
}

/// Bytes of names and values that are kept of a connection's attributes.
const KEPT_ATTRIBUTES: usize = 2048;

/// A connection's attributes, in order, as far as they fit; if they don't, `_truncated` says how many bytes were left out.
pub fn attributes(bytes: &[u8]) -> Vec<(String, String)> {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let (mut list, mut kept) = (Vec::new(), 0);
    let mut c = Cursor::new(bytes);
    while !c.is_empty() {
        let left = c.rest().len();
        let (Ok(name), Ok(value)) = (c.lenenc_bytes(), c.lenenc_bytes()) else {
            break;
        };
        kept += name.len() + value.len();
        if kept > KEPT_ATTRIBUTES {
            list.push(("_truncated".into(), left.to_string()));
            break;
        }
        list.push((text(name), text(value)));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(caps: u32, tail: &[u8]) -> Vec<u8> {
        let mut p = caps.to_le_bytes().to_vec();
        p.extend_from_slice(&0x100_0000u32.to_le_bytes());
        p.push(45);
        p.extend_from_slice(&[0; 23]);
        p.extend_from_slice(tail);
        p
    }

    #[test]
    fn attributes_are_read_as_far_as_they_fit() {
        let mut bytes = Vec::new();
        for (name, value) in [
            ("_pid", "17".to_string()),
            ("x", "y".repeat(2041)),
            ("z", "".into()),
        ] {
            crate::proto::lenenc::put_bytes(&mut bytes, name.as_bytes());
            crate::proto::lenenc::put_bytes(&mut bytes, value.as_bytes());
        }
        let kept = attributes(&bytes);
        let names: Vec<&str> = kept.iter().map(|a| &*a.0).collect();
        assert_eq!(names, ["_pid", "x", "_truncated"]);
        assert_eq!(kept[0].1, "17");
        assert_eq!(kept[2].1, "3");
        // Whatever a client sends.
        assert!(attributes(&[200, 1]).is_empty());
    }

    #[test]
    fn greeting_has_its_fields_where_clients_look() {
        let mut out = Vec::new();
        let challenge = *b"abcdefghijklmnopqrst";
        let said = Greeting {
            version: "8.0",
            id: 0x0102,
            status: 2,
            capabilities: SERVER | SSL,
        };
        greeting(&mut out, &said, &challenge);
        assert_eq!(&out[..5], b"\x0a8.0\0");
        assert_eq!(&out[5..9], [2, 1, 0, 0]);
        assert_eq!(&out[9..17], b"abcdefgh");
        assert_eq!(out[17], 0);
        let caps = u16::from_le_bytes([out[18], out[19]]) as u32
            | (u16::from_le_bytes([out[23], out[24]]) as u32) << 16;
        assert_eq!(caps, SERVER | SSL);
        assert_eq!(out[20], SERVER_COLLATION);
        assert_eq!(out[25], 21);
        assert_eq!(&out[36..49], b"ijklmnopqrst\0");
        assert_eq!(&out[49..], b"caching_sha2_password\0");
    }

    #[test]
    fn responses_of_several_ages() {
        let caps = PROTOCOL_41 | SECURE_CONNECTION | CONNECT_WITH_DB | PLUGIN_AUTH;
        let p = response(caps, b"root\0\0test\0caching_sha2_password\0");
        let login = Login::parse(&p, false).unwrap();
        assert_eq!(login.user, b"root");
        assert_eq!(login.database, Some(&b"test"[..]));
        assert_eq!(login.plugin, b"caching_sha2_password");
        assert!(login.auth.is_empty());
        let p = response(PROTOCOL_41, b"bob\0pw\0");
        let login = Login::parse(&p, false).unwrap();
        assert_eq!((login.user, login.auth), (&b"bob"[..], &b"pw"[..]));
        assert_eq!(login.plugin, NATIVE_PASSWORD.as_bytes());
        assert!(!login.auth.is_empty());
    }

    #[test]
    fn cut_responses_are_malformed_or_complete() {
        let caps = PROTOCOL_41 | PLUGIN_AUTH_LENENC | CONNECT_WITH_DB | PLUGIN_AUTH;
        let p = response(caps, b"root\0\x02pwtest\0mysql_native_password\0");
        for cut in 0..p.len() {
            if cut < 40 {
                assert!(Login::parse(&p[..cut], false).is_err(), "{cut}");
            } else {
                assert_eq!(Login::parse(&p[..cut], false).unwrap().user, b"root");
            }
        }
        assert!(Login::parse(&response(0, b"root\0\0"), false).is_err());
        let over_tls = response(PROTOCOL_41 | SSL, b"root\0\0");
        assert!(Login::parse(&over_tls, false).is_err());
        assert_eq!(Login::parse(&over_tls, true).unwrap().user, b"root");
        assert!(is_tls_request(&over_tls[..32]));
        assert!(!is_tls_request(&over_tls));
        assert!(!is_tls_request(&response(PROTOCOL_41, b"")));
    }

    #[test]
    fn change_user() {
        let caps = SECURE_CONNECTION | PLUGIN_AUTH;
        let login = Login::parse_change_user(b"root\0\0db\0\x2d\0x\0", caps).unwrap();
        assert_eq!(
            (login.user, login.database, login.collation, login.plugin),
            (&b"root"[..], Some(&b"db"[..]), 45, &b"x"[..])
        );
        assert!(Login::parse_change_user(b"root", caps).is_err());
        assert!(Login::parse_change_user(b"root\0\x05ab", caps).is_err());
    }
}
