//! `${NAME}` and `${NAME:-default}`: references to the environment. The plan keeps the name, never the value; only the
//! path of a parameter is resolved while loading, through a lookup that the caller passes.

use std::fmt;
use std::sync::Arc;

use karat_text::env_template;

/// The caller's view of the environment.
#[derive(Clone, Default)]
pub struct Environment(Option<Arc<Lookup>>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    /// An environment that answers by a function. Without one every variable is unset.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(lookup)))
    }

    /// A text with its references replaced; the name of a variable that is unset and has no default is the error.
    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        env_template::fill(&env_template::parts(text), |name| self.0.as_ref().and_then(|lookup| lookup(name)))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// Returns whether a text holds a reference.
pub(crate) fn mentions(text: &str) -> bool {
    env_template::next(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_or_named() {
        let environment = Environment::new(|name| (name == "HOME").then(|| "/h".to_owned()));
        assert_eq!(environment.expand("${HOME}/x/${DIR:-data}").as_deref(), Ok("/h/x/data"));
        assert_eq!(environment.expand("${DIR}"), Err("DIR".to_owned()));
        assert_eq!(environment.expand("$HOME ${not a name} ${"), Ok("$HOME ${not a name} ${".to_owned()));
        assert!(mentions("a ${B:-} c"));
    }
}
