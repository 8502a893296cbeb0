//! TLS, and HTTP/2 through it.

use std::sync::Arc;

use hyper::Request;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::serve::POLICY;
use crate::serve::client::{Service, tokens};

async fn statuses(address: &str, roots: RootCertStore, token: &str, protocol: &str) -> Vec<u16> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
    let request = |path: &str, token: &str| {
        let uri = if protocol == "h2" { format!("https://localhost{path}") } else { path.to_owned() };
        let request = Request::builder().uri(uri).header("host", "localhost");
        request.header("authorization", format!("Bearer {token}")).body(String::new()).unwrap()
    };
    let requests =
        [request("/v1/sessions", token), request("/v1/sessions", "other"), request("/v1/healthz", "")];
    let mut statuses = Vec::new();
    if protocol == "h2" {
        let (mut sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let driver = tokio::spawn(connection);
        for request in requests {
            statuses.push(sender.send_request(request).await.unwrap().status().as_u16());
        }
        drop(sender);
        driver.await.unwrap().unwrap();
    } else {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let driver = tokio::spawn(connection);
        for request in requests {
            sender.ready().await.unwrap();
            let response = sender.send_request(request).await.unwrap();
            statuses.push(response.status().as_u16());
            http_body_util::BodyExt::collect(response.into_body()).await.unwrap();
        }
        drop(sender);
        driver.await.unwrap().unwrap();
    }
    statuses
}

#[test]
fn both_versions_of_http_are_spoken_through_tls() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), POLICY).unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let tokens = tokens(folder.path(), &[("p", "t", "run")]);
    let token = tokens.get("p@t:run").unwrap();
    let flags =
        ["--store", "memory", "--tokens", "tokens.json", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let service = Service::start(folder.path(), &flags);
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for protocol in ["h2", "http/1.1"] {
        let statuses = runtime.block_on(statuses(&service.address, roots.clone(), token, protocol));
        assert_eq!(statuses, [200, 401, 200], "{protocol}");
    }
    // Plain text is no handshake.
    let mut plain = service.connect();
    plain.write_all(b"GET /v1/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(crate::serve::client::answer(&mut *plain), None);
    assert_eq!(service.end(), (Some(0), true));
}
