//! The RSA key by which clients send their passwords where there is no TLS: the full way of caching_sha2_password.
//!
//! A client asks for the public key (or has its file), and sends its password, a zero byte behind it, XORed with the challenge over and over, and
//! encrypted by RSA-OAEP with SHA-1. The key is the one in `caching_sha2_password_private_key_path`; where there is none yet, one is made in the data
//! directory at the first start, for the server's user alone (0600), with the public key beside it for clients that want to know whom they trust.
//!
//! **Promises.** Decrypting takes the same time whatever comes (AWS-LC's, blinded), and what can't be decrypted is not told apart from a wrong
//! password. What it does not promise is TLS's: whoever sits between a client and the server can give the client another key.

use std::io;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use millpond_session::{Instance, PasswordKeySettings};
use pem::{EncodeConfig, LineEnding, Pem};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

use crate::tls::files::write;

/// A key, and what clients are told of it.
pub struct PasswordKey {
    private: OaepPrivateDecryptingKey,
    public: String,
}

impl PasswordKey {
    /// The key that the system variables of a database name, which comes to show the public one; made if there is none and it may be. `None`: there
    /// is none.
    pub fn open(instance: &Instance) -> Result<Option<Arc<PasswordKey>>, String> {
        let settings = instance.password_key_settings();
        let Some(key) = PasswordKey::find(&settings)? else {
            return Ok(None);
        };
        instance.show_password_key(&key.public);
        Ok(Some(Arc::new(key)))
    }

    fn find(settings: &PasswordKeySettings) -> Result<Option<PasswordKey>, String> {
        let path = settings.data.join(&settings.private);
        let public = settings.data.join(&settings.public);
        let failed = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let key = if path.is_file() {
            PasswordKey::read(&path).map_err(|e| failed(&path, &e))?
        } else if settings.generate && !public.exists() {
            PasswordKey::make(settings).map_err(|e| failed(&path, &e))?
        } else {
            return Ok(None);
        };
        // Clients that have the file would encrypt by another key than this one.
        if public.is_file() {
            let text = std::fs::read_to_string(&public).map_err(|e| failed(&public, &e))?;
            if der_of(&text) != der_of(&key.public) {
                return Err(failed(&public, &"is not of the private key"));
            }
        }
        Ok(Some(key))
    }

    fn make(settings: &PasswordKeySettings) -> io::Result<PasswordKey> {
        let failed = |_| io::Error::other("no key can be made");
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(failed)?;
        let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&private).map_err(failed)?;
        let text = in_pem("PRIVATE KEY", der.as_ref());
        let key = PasswordKey::of(private).map_err(io::Error::other)?;
        write(&settings.data, &settings.public, &key.public)?;
        // It comes last: where it is, both are.
        write(&settings.data, &settings.private, &text)?;
        Ok(key)
    }

    fn read(path: &Path) -> Result<PasswordKey, String> {
        let pem = PrivateKeyDer::from_pem_file(path).map_err(|e| e.to_string())?;
        let der = match &pem {
            PrivateKeyDer::Pkcs1(key) => wrapped(key.secret_pkcs1_der()),
            other => other.secret_der().to_vec(),
        };
        let key = PrivateDecryptingKey::from_pkcs8(&der);
        PasswordKey::of(key.map_err(|_| "is no RSA key of 2048 to 8192 bits")?)
    }

    fn of(private: PrivateDecryptingKey) -> Result<PasswordKey, String> {
        let failed = |_| "has no public key".to_string();
        let public = private.public_key();
        let der = AsDer::<PublicKeyX509Der<'_>>::as_der(&public).map_err(failed)?;
        Ok(PasswordKey {
            public: in_pem("PUBLIC KEY", der.as_ref()),
            private: OaepPrivateDecryptingKey::new(private).map_err(|_| "cannot decrypt")?,
        })
    }

    /// The public key in PEM.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// The password in what a client sent, with the zero byte behind it; `None`: it was encrypted by another key, or not at all.
    pub fn decrypt(&self, sent: &[u8], challenge: &[u8]) -> Option<Vec<u8>> {
        let mut plain = vec![0; self.private.min_output_size()];
        let text = (self.private).decrypt(&OAEP_SHA1_MGF1SHA1, sent, &mut plain, None);
        let length = text.ok()?.len();
        plain.truncate(length);
        for (byte, mask) in plain.iter_mut().zip(challenge.iter().cycle()) {
            *byte ^= mask;
        }
        Some(plain)
    }
}

fn in_pem(label: &str, der: &[u8]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new(label, der), config)
}

/// The first block's bytes.
fn der_of(text: &str) -> Option<Vec<u8>> {
    Some(pem::parse(text).ok()?.into_contents())
}

/// A private key of PKCS #1 (`BEGIN RSA PRIVATE KEY`) as PKCS #8 has it: the version, what kind of key it is, and the key as it was.
fn wrapped(pkcs1: &[u8]) -> Vec<u8> {
    /// The number 0; a sequence of rsaEncryption (1.2.840.113549.1.1.1) and NULL.
    const HEAD: &[u8] = b"\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    let key = tagged(0x04, pkcs1);
    tagged(0x30, &[HEAD, &key].concat())
}

/// A value of DER: its tag, how long it is, its bytes.
fn tagged(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = (bytes.len() as u64).to_be_bytes();
    match bytes.len() {
        n @ 0..0x80 => out.push(n as u8),
        n => {
            let skip = (n as u64).leading_zeros() as usize / 8;
            out.push(0x80 | (length.len() - skip) as u8);
            out.extend_from_slice(&length[skip..]);
        }
    }
    out.extend_from_slice(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};

    fn encrypted(key: &PasswordKey, password: &[u8], challenge: &[u8]) -> Vec<u8> {
        let masked = password.iter().zip(challenge.iter().cycle());
        let masked: Vec<u8> = masked.map(|(a, b)| a ^ b).collect();
        let public = PublicEncryptingKey::from_der(&der_of(&key.public).unwrap()).unwrap();
        let public = OaepPublicEncryptingKey::new(public).unwrap();
        let mut out = vec![0; public.ciphertext_size()];
        let sent = public.encrypt(&OAEP_SHA1_MGF1SHA1, &masked, &mut out, None);
        sent.unwrap().to_vec()
    }

    #[test]
    fn a_key_is_made_once_and_decrypts() {
        let dir = std::env::temp_dir().join(format!("millpond-key-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let mut settings = PasswordKeySettings {
            data: dir.clone(),
            private: "private_key.pem".into(),
            public: "public_key.pem".into(),
            generate: false,
        };
        assert!(PasswordKey::find(&settings).unwrap().is_none());
        settings.generate = true;
        let made = PasswordKey::find(&settings).unwrap().unwrap();
        let again = PasswordKey::find(&settings).unwrap().unwrap();
        assert_eq!(made.public, again.public);
        let challenge = b"01234567890123456789";
        let password = b"longer than the challenge is\0";
        let sent = encrypted(&made, password, challenge);
        assert_eq!(again.decrypt(&sent, challenge).unwrap(), password);
        assert_eq!(again.decrypt(&sent[1..], challenge), None);
        assert_eq!(again.decrypt(password, challenge), None);
        assert_eq!(again.decrypt(b"", challenge), None);
        // A public key of another private one is an error; without the private one nothing is made beside it.
        std::fs::remove_file(dir.join("private_key.pem")).unwrap();
        assert!(PasswordKey::find(&settings).unwrap().is_none());
        settings.public = "other.pem".into();
        PasswordKey::find(&settings).unwrap().unwrap();
        settings.public = "public_key.pem".into();
        let e = PasswordKey::find(&settings).err().unwrap();
        assert!(e.contains("public_key.pem"), "{e}");
        std::fs::write(dir.join("private_key.pem"), "nonsense").unwrap();
        assert!(PasswordKey::find(&settings).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn keys_of_pkcs_1_are_read() {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&private).unwrap();
        let der = der.as_ref();
        // Version and kind take 18 bytes behind a head of 4, and the key another head of 4.
        let pkcs1 = &der[4 + 18 + 4..];
        assert_eq!(wrapped(pkcs1), der);
        let path = std::env::temp_dir().join(format!("millpond-pkcs1-{}", std::process::id()));
        std::fs::write(&path, in_pem("RSA PRIVATE KEY", pkcs1)).unwrap();
        let key = PasswordKey::read(&path).unwrap();
        assert_eq!(key.public, PasswordKey::of(private).unwrap().public);
        std::fs::remove_file(&path).unwrap();
    }
}
