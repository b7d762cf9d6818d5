//! Which request meets which behaviour.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{Behaviour, Echo};

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// How many requests came before it.
    pub number: usize,
    /// How many requests with the same path and body came before it.
    pub attempt: usize,
    /// Path and query.
    pub path: String,
    /// Header names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Received {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The plan of a fake provider: a function from requests to behaviours.
#[derive(Clone)]
pub struct Script(Arc<dyn Fn(&Received) -> Behaviour + Send + Sync>);

impl Script {
    /// Decides by the request.
    pub fn by(decide: impl Fn(&Received) -> Behaviour + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// The same for every request.
    pub fn always(behaviour: Behaviour) -> Self {
        Self::by(move |_| behaviour.clone())
    }

    /// One after the other by request number; the last one stays. Nothing at all is [`Behaviour::Hang`].
    pub fn sequence(behaviours: impl IntoIterator<Item = Behaviour>) -> Self {
        let behaviours: Vec<Behaviour> = behaviours.into_iter().collect();
        Self::by(move |received| {
            behaviours.get(received.number).or(behaviours.last()).cloned().unwrap_or(Behaviour::Hang)
        })
    }

    /// This behaviour where the predicate holds, else what this script says.
    #[must_use]
    pub fn but_when(self, predicate: impl Fn(&Received) -> bool + Send + Sync + 'static, behaviour: Behaviour) -> Self {
        Self::by(move |received| if predicate(received) { behaviour.clone() } else { self.decide(received) })
    }

    /// Replies that depend on nothing but the request and, for faults, its attempt.
    pub fn echo(echo: Echo) -> Self {
        Self::by(move |received| echo.decide(received))
    }

    pub(super) fn decide(&self, received: &Received) -> Behaviour {
        (self.0)(received)
    }
}

impl From<Behaviour> for Script {
    fn from(behaviour: Behaviour) -> Self {
        Self::always(behaviour)
    }
}
