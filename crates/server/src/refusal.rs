//! Telling clients why they are not served.

use std::sync::Arc;
use std::time::Duration;

use millpond_session::SqlError;
use millpond_session::types::Encoding;
use socket2::Socket;

use crate::proto::response;
use crate::wire::PacketWriter;

/// How long a client that is turned away may take to read why.
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(100);

/// There is no place left for a connection.
pub(crate) fn too_many_connections() -> SqlError {
    SqlError::new(1040, "Too many connections")
}

/// Tells a client why it is not served.
pub(crate) fn refuse(socket: Arc<Socket>, e: &SqlError) {
    let mut writer = PacketWriter::new(socket);
    writer.set_timeout(REFUSAL_TIMEOUT);
    writer.packet(|p| response::err(p, e, Encoding::Utf8));
    let _ = writer.flush();
}
