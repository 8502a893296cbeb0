//! What a round trip costs where nothing is done: a server on the same stack that answers with what it was sent.
//!
//! `echo ADDRESS` listens at `127.0.0.1:0` or `unix:/path.sock`, and says where on standard error.

use std::convert::Infallible;
use std::process::ExitCode;

use gatelog_bench::fault::{Fault, Outcome};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use mimalloc::MiMalloc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// The allocator of the program that is shipped.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match echo() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn echo() -> Outcome<()> {
    let address = std::env::args().nth(1).ok_or_else(|| Fault::new("an address is wanted"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        if let Some(path) = address.strip_prefix("unix:") {
            let listener = UnixListener::bind(path)?;
            eprintln!("listening at {address}");
            loop {
                let (stream, _) = listener.accept().await?;
                tokio::spawn(converse(stream));
            }
        }
        let listener = TcpListener::bind(&address).await?;
        eprintln!("listening at http://{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(converse(stream));
        }
    })
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    // Who breaks off is told nothing any more.
    let _broken_off = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
