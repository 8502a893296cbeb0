//! A stream that waits for its other end, and not forever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose reads and writes fail once nothing moved for some time.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    read: Patience,
    write: Patience,
}

/// How long one direction has been waited for.
#[derive(Debug)]
struct Patience {
    limit: Duration,
    end: Pin<Box<Sleep>>,
    waits: bool,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        Self { limit, end: Box::pin(sleep(limit)), waits: false }
    }

    /// Lets the wait go on, or ends it.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if !self.waits {
            self.waits = true;
            self.end.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn weigh<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            return self.wait(context);
        }
        self.waits = false;
        polled
    }
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, read: Patience::new(limit), write: Patience::new(limit) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read.weigh(polled, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.write.weigh(polled, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.write.weigh(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.write.weigh(polled, context)
    }
}
