//! The messages of an output, in order.

use maud::{Markup, html};

use crate::block::Message;
use crate::text::visible::{Line, line, lines};

/// Renders messages.
pub fn render(messages: &[Message]) -> Markup {
    html! {
        ol.messages data-testid="transcript" {
            @for message in messages {
                li.message data-role=(line(&message.role)) {
                    span.soft.small {
                        strong { (line(&message.role)) }
                        @if let Some(name) = &message.name { " " (Line(name)) }
                    }
                    @if !message.content.is_empty() { div.text-block dir="auto" { (lines(&message.content)) } }
                    @for (name, arguments) in &message.calls {
                        div.surface { span.soft.small { "calls " } code { (Line(name)) } div.text-block dir="auto" { (lines(arguments)) } }
                    }
                }
            }
        }
    }
}
