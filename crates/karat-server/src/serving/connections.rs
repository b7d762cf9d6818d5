//! The connections of a server, and their limits: their number, the size and time of a head, and readers that stall.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use karat_app::Stop;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep, sleep};
use tower::ServiceExt;

use crate::guard::peer::Peer;

/// Connections at one time. Others wait in the queue of the system.
const MOST: u32 = 1_024;

/// The largest head of a request.
const MAX_HEAD: usize = 16 << 10;

/// Time for the whole head of a request, from the end of the one before.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Time in which a reader has to take something of its answer.
const STALL_TIME: Duration = Duration::from_secs(60);

/// Time that requests in flight have to end once the server is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Pause after the system could not give a connection, because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `stopping` is set; requests in flight then have two seconds.
pub(crate) async fn serve(listener: TcpListener, router: Router, stopping: Stop) {
    let places = Arc::new(Semaphore::new(MOST as usize));
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((listener.accept().await, place))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = stopping.wait() => break,
        };
        let Some((accepted, place)) = accepted else { break };
        let Ok((stream, from)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let (router, stopping) = (router.clone(), stopping.clone());
        tokio::spawn(async move {
            serve_one(stream, from, router, &stopping).await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, places.acquire_many(MOST)).await;
}

async fn serve_one(stream: TcpStream, from: SocketAddr, router: Router, stopping: &Stop) {
    let _ = stream.set_nodelay(true);
    let peer = stream.local_addr().ok().map(|to| Peer::new(from, to));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(from));
        if let Some(peer) = &peer {
            request.extensions_mut().insert(peer.clone());
        }
        router.clone().oneshot(request)
    });
    let mut settings = http1::Builder::new();
    settings.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MAX_HEAD);
    let mut connection = pin!(settings.serve_connection(TokioIo::new(Stalling::new(stream)), service));
    // A connection that breaks has nobody left to tell.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopping.wait() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A connection that breaks off when its reader takes nothing for a minute.
struct Stalling<S> {
    stream: S,
    /// The end of the reader's time, while it takes nothing.
    end: Pin<Box<Sleep>>,
    is_stalled: bool,
}

impl<S> Stalling<S> {
    fn new(stream: S) -> Self {
        Self { stream, end: Box::pin(sleep(STALL_TIME)), is_stalled: false }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.is_stalled = false;
            return outcome;
        }
        if !self.is_stalled {
            self.is_stalled = true;
            self.end.as_mut().reset(Instant::now() + STALL_TIME);
        }
        self.end.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-05: a reader that takes nothing for a minute loses its connection; one that is slow keeps it.
    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stalls_loses_its_connection() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (near, mut far) = tokio::io::duplex(8);
        let mut near = Stalling::new(near);
        let writing = tokio::spawn(async move { near.write_all(&[0; 64]).await });
        for _ in 0..4 {
            sleep(STALL_TIME / 2).await;
            far.read_exact(&mut [0; 8]).await.unwrap();
        }
        assert!(!writing.is_finished());
        sleep(STALL_TIME * 2).await;
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
