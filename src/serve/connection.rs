//! Connections, from their first byte to their last.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::serve::door::Peer;
use crate::serve::listen::Stream;
use crate::serve::patient::Patient;
use crate::serve::routes;
use crate::serve::server::Service;

/// Headers of a request.
const HEADERS: usize = 64;

/// Bytes that are read ahead. Longer heads are refused before they are understood.
const AHEAD: usize = 64 * 1024;

/// Requests at once on one connection of HTTP/2.
const STREAMS: u32 = 128;

/// Bytes of the headers of a request over HTTP/2.
const HEADER_LIST: u32 = 32 * 1024;

/// How long a handshake of TLS may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What is said to a connection too many.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 104\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\n\
    {\"error\":{\"kind\":\"connections\",\"text\":\"as many connections are open as there may be: try again later\"}}\n";

/// What is said to a user of this machine who may not ask.
const STRANGER: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 116\r\n\
    Connection: close\r\n\r\n\
    {\"error\":{\"kind\":\"peer\",\"text\":\"processes of this user are not served: start the service with --allow-uid for it\"}}\n";

/// Serves a connection, if there is room and its other end may ask.
pub(crate) fn connect(service: &Arc<Service>, stream: Stream, watcher: Watcher) {
    let Ok(permit) = Arc::clone(&service.sockets).try_acquire_owned() else {
        service.metrics.refused("connections");
        turn_away(&stream, FULL);
        return;
    };
    let service = Arc::clone(service);
    match stream {
        Stream::Tcp(stream) => {
            let stream = Patient::new(stream, service.limits.idle_connection);
            match service.tls.clone() {
                Some(tls) => {
                    tokio::spawn(async move {
                        let shaken = timeout(HANDSHAKE, tls.acceptor().accept(stream)).await;
                        match shaken {
                            Ok(Ok(stream)) => converse(service, Peer::Tcp, stream, watcher, permit).await,
                            Ok(Err(_)) | Err(_) => service.metrics.refused("handshake"),
                        }
                    });
                }
                None => {
                    tokio::spawn(converse(service, Peer::Tcp, stream, watcher, permit));
                }
            }
        }
        Stream::Unix(stream) => {
            let uid = stream.peer_cred().ok().map(|credentials| credentials.uid());
            match uid.filter(|&uid| service.peers.admits(uid)) {
                Some(uid) => {
                    let stream = Patient::new(stream, service.limits.idle_connection);
                    tokio::spawn(converse(service, Peer::Unix { uid }, stream, watcher, permit));
                }
                None => {
                    service.metrics.refused("peer");
                    turn_away(&Stream::Unix(stream), STRANGER);
                }
            }
        }
    }
}

/// Says why, if that can be said at once. Nobody is waited for.
fn turn_away(stream: &Stream, words: &[u8]) {
    let _unheard = match stream {
        Stream::Tcp(stream) => stream.try_write(words),
        Stream::Unix(stream) => stream.try_write(words),
    };
}

/// Answers the requests of a connection, one after another or beside one another.
async fn converse<S>(
    service: Arc<Service>,
    peer: Peer,
    stream: S,
    watcher: Watcher,
    permit: OwnedSemaphorePermit,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    service.metrics.connected();
    let mut builder = Builder::new(TokioExecutor::new());
    let limits = &service.limits;
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_headers(HEADERS)
        .max_buf_size(AHEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADER_LIST)
        .keep_alive_interval(limits.idle_connection / 2)
        .keep_alive_timeout(limits.idle_connection / 2);
    let answering = Arc::clone(&service);
    let requests = service_fn(move |request| {
        let service = Arc::clone(&answering);
        async move { Ok::<_, Infallible>(routes::answer(&service, peer, request).await) }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), requests).into_owned();
    // Who breaks off a connection is told nothing any more.
    let _broken_off = watcher.watch(connection).await;
    service.metrics.disconnected();
    drop(permit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_the_door_are_whole_answers() {
        for words in [FULL, STRANGER] {
            let text = std::str::from_utf8(words).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{} bytes", body.len());
            assert!(serde_json::from_str::<serde_json::Value>(body).is_ok(), "{body}");
        }
    }
}
