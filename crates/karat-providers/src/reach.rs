//! Whether a request that reqwest sends can have reached anybody.
//!
//! When reqwest has a connection it says to nobody, but it asks a layer of ours for each new one, within the task of the request
//! that needs it. Until that is made, secured and through its proxy, nothing was sent. A connection that others give back
//! meanwhile is taken instead; the one that was begun is then finished in a task of its own, which tells us so.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// Of the request that is being sent.
    static REQUEST: Reach;
}

/// Whether something may have been sent, as far as anybody can see: unless a connection is being made for it.
#[derive(Debug, Clone)]
struct Reach(Arc<AtomicBool>);

impl Reach {
    fn set(&self, is_reached: bool) {
        self.0.store(is_reached, Ordering::Release);
    }

    fn is_present(&self) -> bool {
        REQUEST.try_with(|present| Arc::ptr_eq(&present.0, &self.0)).unwrap_or(false)
    }
}

/// Sends a request through a client that is [`Watched`]. However that ends, given up or not, `is_reached` says whether
/// something may have been sent.
pub(crate) async fn told<T>(is_reached: &mut bool, sending: impl Future<Output = T>) -> T {
    let reach = Reach(Arc::new(AtomicBool::new(true)));
    let _telling = Telling { reach: reach.clone(), is_reached };
    REQUEST.scope(reach, sending).await
}

struct Telling<'a> {
    reach: Reach,
    is_reached: &'a mut bool,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        *self.is_reached = self.reach.0.load(Ordering::Acquire);
    }
}

/// The layer that sees connections being made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch;

impl<S> Layer<S> for Watch {
    type Service = Watched<S>;

    fn layer(&self, connector: S) -> Watched<S> {
        Watched(connector)
    }
}

/// A connector that is watched.
#[derive(Debug, Clone)]
pub(crate) struct Watched<S>(S);

impl<S: Service<R, Future: Unpin>, R> Service<R> for Watched<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Connecting<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: R) -> Self::Future {
        let reach = REQUEST.try_with(Clone::clone).ok();
        reach.iter().for_each(|reach| reach.set(false));
        Connecting { reach, connecting: self.0.call(to) }
    }
}

/// A connection that is being made.
pub(crate) struct Connecting<F> {
    /// Of the request that it is made for.
    reach: Option<Reach>,
    connecting: F,
}

impl<F: Future + Unpin> Future for Connecting<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = Pin::new(&mut self.connecting).poll(context);
        if let Some(reach) = self.reach.as_ref().filter(|reach| polled.is_ready() || !reach.is_present()) {
            reach.set(true);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, pending, ready};
    use std::time::Duration;

    use super::*;

    /// A connector that answers at once, or never.
    #[derive(Clone, Copy)]
    struct Connector(bool);

    impl Service<()> for Connector {
        type Response = ();
        type Error = ();
        type Future = futures::future::Either<Ready<Result<(), ()>>, futures::future::Pending<Result<(), ()>>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, (): ()) -> Self::Future {
            match self.0 {
                true => futures::future::Either::Left(ready(Ok(()))),
                false => futures::future::Either::Right(futures::future::pending()),
            }
        }
    }

    /// BY-05: a request that is given up while its connection is made has reached nobody; one that has a connection, its
    /// own or that of another request, may have.
    #[tokio::test(start_paused = true)]
    async fn only_who_waits_for_a_connection_has_reached_nobody() {
        let connect = |answers| Watch.layer(Connector(answers)).call(());
        let given_up = async |sending: Pin<Box<dyn Future<Output = ()>>>| {
            let mut is_reached = false;
            let sent = tokio::time::timeout(Duration::from_secs(1), told(&mut is_reached, sending)).await;
            assert!(sent.is_err());
            is_reached
        };
        assert!(!given_up(Box::pin(async move { connect(false).await.unwrap_or_default() })).await);
        let own = async move {
            let _connection = connect(true).await;
            pending().await
        };
        assert!(given_up(Box::pin(own)).await);
        let of_another = async move {
            let begun = connect(false);
            tokio::spawn(begun);
            pending().await
        };
        assert!(given_up(Box::pin(of_another)).await);
        assert!(given_up(Box::pin(pending())).await, "one that was there already");
    }
}
