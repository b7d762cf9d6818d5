//! Maps requests to behaviours.

use std::sync::Arc;

use super::{Behaviour, Echo, ReceivedRequest};

/// The plan of a fake provider: a function from requests to behaviours.
#[derive(Clone)]
pub struct Script(Arc<dyn Fn(&ReceivedRequest) -> Behaviour + Send + Sync>);

impl Script {
    /// Decides by the request.
    pub fn by(decide: impl Fn(&ReceivedRequest) -> Behaviour + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// The same for every request.
    pub fn always(behaviour: Behaviour) -> Self {
        Self::by(move |_| behaviour.clone())
    }

    /// One behaviour per request, in order; the last one repeats. An empty sequence is [`Behaviour::Hang`].
    pub fn sequence(behaviours: impl IntoIterator<Item = Behaviour>) -> Self {
        let behaviours: Vec<Behaviour> = behaviours.into_iter().collect();
        Self::by(move |received| {
            behaviours.get(received.number).or(behaviours.last()).cloned().unwrap_or(Behaviour::Hang)
        })
    }

    /// Uses the behaviour when the predicate holds, otherwise this script.
    #[must_use]
    pub fn but_when(
        self,
        predicate: impl Fn(&ReceivedRequest) -> bool + Send + Sync + 'static,
        behaviour: Behaviour,
    ) -> Self {
        Self::by(move |received| if predicate(received) { behaviour.clone() } else { self.decide(received) })
    }

    /// Replies that depend on nothing but the request and, for faults, its attempt.
    pub fn echo(echo: Echo) -> Self {
        Self::by(move |received| echo.decide(received))
    }

    pub(crate) fn decide(&self, received: &ReceivedRequest) -> Behaviour {
        (self.0)(received)
    }
}

impl From<Behaviour> for Script {
    fn from(behaviour: Behaviour) -> Self {
        Self::always(behaviour)
    }
}
