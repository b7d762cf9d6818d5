//! A button that asks the server to change something, by a POST without content. Without script it is not shown: the page
//! stays readable, and the command line does the same.

use maud::{Markup, html};

use crate::text::visible::line;

/// A button.
#[derive(Debug, Clone, Default)]
pub struct Action {
    /// Its word, such as `Close`.
    pub label: String,
    /// The thing that it acts on, for readers of one button.
    pub object: String,
    /// The address that it posts to.
    pub to: String,
    /// The word of the second press, if it cannot be taken back: such as `Close for good`.
    pub confirmation: Option<String>,
}

/// The buttons of a row, and the place of what the server says.
pub fn actions(actions: &[Action]) -> Markup {
    html! {
        @if !actions.is_empty() {
            k-post.chips.needs-script {
                @for action in actions {
                    button type="button" data-to=(action.to) data-confirmation=[&action.confirmation] aria-label={ (action.label) " " (line(&action.object)) } {
                        (action.label)
                    }
                }
                span.soft.small role="status" {}
            }
        }
    }
}
