//! How a client proves who it is: its plugin, the challenge, the answers.
//!
//! What is answered to a client that is nobody is what is answered to somebody with a wrong password. An answer that a client made for another
//! plugin than its account's is not looked at; it is asked to use that.

use std::sync::Arc;
use std::time::Duration;

use super::{Peer, parting};
use crate::backend::Backend;
use crate::password_key::PasswordKey;
use crate::proto::capability;
use crate::proto::handshake::{
    self, AUTH_SOCKET, CACHING_SHA2_PASSWORD, CHALLENGE, Login, NATIVE_PASSWORD,
};
use crate::wire::{PacketReader, PacketWriter};
use millpond_session::{Admitted, Candidate, Client, SqlError, SqlResult, TlsFacts, Verdict};

/// Longest packet taken before the client is known.
pub(super) const MAX_LOGIN_PACKET: usize = 128 << 10;

/// The error of a client that is gone.
const GONE: u16 = 1158;
/// A client that asks for the server's public key.
const WANTS_KEY: &[u8] = &[2];

/// Who a client says it is, and how it began to prove it.
pub(super) struct Claim {
    client: Client,
    local: bool,
    /// Whether nobody can listen in: then it may send its password.
    private: bool,
    plugin: Vec<u8>,
    answer: Vec<u8>,
    can_switch: bool,
    /// The answer is to another challenge.
    stale: bool,
}

impl Claim {
    /// What a login says over a connection with this TLS.
    pub fn of(login: &Login<'_>, peer: &Peer, tls: Option<Arc<TlsFacts>>) -> Claim {
        let private = peer.socket.is_some() || tls.is_some();
        Claim {
            client: Client {
                user: String::from_utf8_lossy(login.user).into_owned(),
                host: peer.name.clone(),
                names: peer.names.clone(),
                system_user: peer.socket.clone().flatten(),
                handles_expired: login.capabilities & capability::HANDLES_EXPIRED != 0,
                tls,
            },
            local: peer.local,
            private,
            plugin: login.plugin.to_vec(),
            answer: login.auth.to_vec(),
            can_switch: login.capabilities & capability::PLUGIN_AUTH != 0,
            stale: false,
        }
    }
    /// The same, its answer being to another challenge; an empty one is an answer to any.
    pub fn unanswered(mut self) -> Claim {
        self.stale = !is_empty(&self.answer);
        self
    }
}

/// The connection, as far as it is come.
pub(super) struct Line<'a> {
    pub reader: &'a mut PacketReader,
    pub writer: &'a mut PacketWriter,
    pub seq: &'a mut u8,
    pub timeout: Duration,
    /// What its password may be encrypted by.
    pub key: Option<&'a PasswordKey>,
}

impl Line<'_> {
    /// Sends a packet and reads the answer. Error 1158: the client is gone.
    fn ask(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> SqlResult<Vec<u8>> {
        self.writer.packet(put);
        self.writer.flush().map_err(|_| gone())?;
        *self.seq = self.writer.sequence();
        let read = self
            .reader
            .read(self.seq, MAX_LOGIN_PACKET, self.timeout, self.timeout);
        self.writer.set_sequence(*self.seq);
        match read {
            Ok(at) => Ok(self.reader.bytes(at).to_vec()),
            Err(e) => Err(parting(&e).unwrap_or_else(gone)),
        }
    }
}

/// What is written down of a client that went before it had proved who it is.
fn gone() -> SqlError {
    SqlError::new(GONE, "Got an error reading communication packets")
}

/// What clients send for an empty password: nothing, or for some plugins one zero byte.
fn is_empty(answer: &[u8]) -> bool {
    matches!(answer, [] | [0])
}

/// Has a client prove who it is. One that goes is refused as one that fails, for there is more than its socket to tell.
pub(super) fn prove<B: Backend>(
    backend: &B,
    claim: Claim,
    challenge: &[u8; CHALLENGE],
    line: &mut Line<'_>,
) -> SqlResult<Option<Admitted>> {
    let candidate = backend.candidate(claim.client.clone(), claim.local);
    let mut answer = claim.answer;
    let plugin = candidate.plugin();
    let other = claim.stale || claim.plugin != plugin.as_bytes();
    // Clients' stand-ins for a plugin that they could not load (`dummy_fallback_auth` of MariaDB's) wait to be asked for another, whatever is due.
    let known = [NATIVE_PASSWORD, CACHING_SHA2_PASSWORD, AUTH_SOCKET, ""];
    let knows = !claim.can_switch || known.iter().any(|p| claim.plugin == p.as_bytes());
    // Without a password one plugin's nothing is as good as another's.
    let nothing = candidate.needs_no_password() && is_empty(&answer);
    // A socket's user is asked nothing, whatever plugins the client knows.
    let settled = knows && (nothing || plugin == AUTH_SOCKET);
    if other && !settled {
        if !claim.can_switch {
            return Err(SqlError::new(
                1251,
                "Client does not support authentication protocol requested by server; consider upgrading MySQL client",
            ));
        }
        // No client has a plugin of auth_socket's name; what another one answers is not looked at.
        let asked = if plugin == AUTH_SOCKET {
            NATIVE_PASSWORD
        } else {
            plugin
        };
        answer = line.ask(|p| handshake::auth_switch(p, asked, challenge))?;
    }
    if is_empty(&answer) {
        answer.clear();
    }
    let gave = !answer.is_empty();
    match candidate.judge(challenge, &answer) {
        Verdict::Right => {
            if plugin == CACHING_SHA2_PASSWORD && gave {
                line.writer
                    .packet(|p| p.extend_from_slice(&handshake::FAST_AUTH_OK));
            }
            backend.admit(candidate, true, None, gave)
        }
        Verdict::Wrong => backend.admit(candidate, false, None, gave),
        Verdict::Unsure => full(backend, candidate, claim.private, challenge, line),
    }
}

/// Asks for the password itself, and judges it.
fn full<B: Backend>(
    backend: &B,
    candidate: Candidate,
    private: bool,
    challenge: &[u8; CHALLENGE],
    line: &mut Line<'_>,
) -> SqlResult<Option<Admitted>> {
    match password(&candidate, private, challenge, line) {
        Ok(password) => {
            let right = candidate.is_password(&password);
            backend.admit(candidate, right, Some(&password), true)
        }
        // Being asked has told it that its answer was wrong: that was a guess, be it the last word. What it is told now is what
        // a stranger would be.
        Err(why) if candidate.is_disproved() => {
            let refused = backend.admit(candidate, false, None, true);
            match (why.code, refused) {
                (GONE, Err(e)) => Err(e),
                _ => Err(why),
            }
        }
        Err(why) => Err(why),
    }
}

/// The password that a client sends when it is asked for it.
fn password(
    candidate: &Candidate,
    private: bool,
    challenge: &[u8; CHALLENGE],
    line: &mut Line<'_>,
) -> SqlResult<Vec<u8>> {
    let mut answer = line.ask(|p| p.extend_from_slice(&handshake::FULL_AUTH))?;
    // Whoever asks for the key encrypts by it, whatever the connection; one that has it already needn't ask.
    let wants_key = answer == WANTS_KEY;
    if wants_key || !private {
        let Some(key) = line.key else {
            return Err(candidate.refusal_of_full());
        };
        if wants_key {
            answer = line.ask(|p| handshake::public_key(p, key.public()))?;
        }
        // What can't be decrypted is a wrong password like any other, and takes as long to be found one.
        answer = key.decrypt(&answer, challenge).unwrap_or_default();
    }
    if answer.last() == Some(&0) {
        answer.pop();
    }
    Ok(answer)
}
