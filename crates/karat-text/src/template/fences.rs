//! The one code that all fences of a call share.
//!
//! A fence's code depends on the whole prompt, which is not known until it is rendered. So a template with fences is
//! rendered twice: as a draft, and with a code that is made of all drafts of the call and stands in none of them. Nobody
//! who writes a part of the prompt can write a fence of it, whatever other part he knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use minijinja::value::Object;

use crate::fence::Fence;

/// The state of the filter `fence` in one rendering.
#[derive(Debug)]
pub(super) struct Fences {
    fence: Fence,
    used: AtomicBool,
}

impl Object for Fences {}

impl Fences {
    /// The name under which the filter finds it: no template can write it.
    pub const NAME: &'static str = "fences of this call";

    fn new(fence: Fence) -> Arc<Self> {
        Arc::new(Self { fence, used: AtomicBool::new(false) })
    }

    /// A content within its marks.
    pub fn wrap(&self, label: &str, content: &str) -> String {
        self.used.store(true, Ordering::Relaxed);
        self.fence.wrap(label, content)
    }
}

/// Renders with a code of its own where anything is fenced; `texts` are all that it shows.
pub(super) fn coded<T, E>(
    render: impl Fn(&Arc<Fences>) -> Result<T, E>,
    texts: impl Fn(&T) -> Vec<String>,
) -> Result<T, E> {
    let draft = Fences::new(Fence::new(0));
    let drafted = render(&draft)?;
    if !draft.used.load(Ordering::Relaxed) {
        return Ok(drafted);
    }
    let texts = texts(&drafted);
    render(&Fences::new(Fence::around(0, texts.iter().map(String::as_str))))
}
