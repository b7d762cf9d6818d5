//! The check that no request body contains a known key.

use bytes::Bytes;

use super::exchange::{Exchange, unsent_exchange};
use crate::answer::secrets::{SHORTEST_SECRET, Secrets};

impl Secrets {
    /// The stored form of a request whose body is about to be sent.
    ///
    /// # Errors
    /// The body contains a known secret: a key belongs into a header, and the receiver of a body may store it. `who` names
    /// the receiver in the message.
    pub fn check_request(&self, who: &str, body: &Bytes) -> Result<Bytes, Box<Exchange>> {
        if !self.are_in(body) {
            return Ok(body.clone());
        }
        let problem = format!(
            "{who}: not sent: the request contains the value of a key that is set in the environment. Remove it from the \
             row, prompt or file that it comes from; if the value is not a secret but a placeholder, use one of fewer than \
             {SHORTEST_SECRET} characters"
        );
        Err(Box::new(Exchange { request: self.clean(body.clone()), ..unsent_exchange(problem) }))
    }
}
