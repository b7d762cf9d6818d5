//! Encryption. The server's certificate is checked, against the system's certificates or those of a file.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Makes connections that are encrypted.
pub(super) fn connector(root_certificate: Option<&str>) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot encrypt: {error}"))?;
    let builder = match root_certificate {
        Some(path) => {
            let unread = |error: &dyn std::fmt::Display| format!("cannot read the certificates {path:?}: {error}");
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))? {
                let certificate = certificate.map_err(|error| unread(&error))?;
                roots.add(certificate).map_err(|error| unread(&error))?;
            }
            builder.with_root_certificates(roots)
        }
        None => builder
            .with_platform_verifier()
            .map_err(|error| format!("cannot read the system's certificates: {error}"))?,
    };
    Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
}
