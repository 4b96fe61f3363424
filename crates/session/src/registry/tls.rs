//! What a connection's TLS is, for all who show it or ask it of an account.

/// What is known of the TLS of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFacts {
    /// `TLSv1.2`, `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, by OpenSSL's name.
    pub cipher: &'static str,
    /// Of the client's certificate, which an authority of the server's has signed: who signed it, and whose it is, as OpenSSL shows them on a line
    /// (`/O=Millpond/CN=client`). `None`: it sent none.
    pub client: Option<ClientCertificate>,
}

/// Names in a client's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Who signed it.
    pub issuer: String,
    /// Whose it is.
    pub subject: String,
}
