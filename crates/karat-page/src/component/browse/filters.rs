//! Filters above a list: a form that is sent as an address, and chips that are links.

use maud::{Markup, html};

use crate::number::count;
use crate::text::visible::{Words, line};

/// A field of a form.
#[derive(Debug, Clone)]
pub enum Field {
    /// Words to search for.
    Search {
        /// Name in addresses.
        name: &'static str,
        /// Label.
        label: String,
        /// Present value.
        value: String,
    },
    /// Words of one kind.
    Text {
        /// Name in addresses.
        name: &'static str,
        /// Label.
        label: String,
        /// Present value.
        value: String,
    },
    /// One of several values.
    Choice {
        /// Name in addresses.
        name: &'static str,
        /// Label.
        label: String,
        /// Present value.
        value: String,
        /// Words of the empty value, such as `any`; `None` if one must be chosen and one is.
        none: Option<&'static str>,
        /// Value and words of each option.
        options: Vec<(String, String)>,
    },
    /// A number.
    Number {
        /// Name in addresses.
        name: &'static str,
        /// Label.
        label: String,
        /// Present value.
        value: String,
    },
    /// A date.
    Date {
        /// Name in addresses.
        name: &'static str,
        /// Label.
        label: String,
        /// Present value.
        value: String,
    },
    /// A value that the form keeps.
    Hidden {
        /// Name in addresses.
        name: String,
        /// Value.
        value: String,
    },
}

/// Renders a form that leads to `action`; `reset` is the address without filters, if any is set.
pub fn form(action: &str, fields: &[Field], reset: Option<&str>) -> Markup {
    html! {
        form.filters method="get" action=(action) role="search" {
            @for it in fields { (field(it)) }
            button type="submit" { "Apply" }
            @if let Some(reset) = reset { a.button href=(reset) { "Clear" } }
        }
    }
}

fn field(field: &Field) -> Markup {
    html! {
        @match field {
            Field::Search { name, label, value } => label.grow {
                span { (line(label)) }
                input type="search" name=(name) value=(value) data-testid="search" autocomplete="off";
            },
            Field::Text { name, label, value } => label {
                span { (line(label)) } input type="text" name=(name) value=(value) autocomplete="off";
            },
            Field::Number { name, label, value } => label {
                span { (line(label)) } input.short type="number" step="any" name=(name) value=(value);
            },
            Field::Date { name, label, value } => label {
                span { (line(label)) } input type="date" name=(name) value=(value);
            },
            Field::Choice { name, label, value, none, options } => label {
                span { (line(label)) }
                select name=(name) {
                    @if let Some(none) = none { option value="" selected[value.is_empty()] { (none) } }
                    @for (key, words) in options { option value=(key) selected[key == value] { (line(words)) } }
                }
            },
            Field::Hidden { name, value } => input type="hidden" name=(name) value=(value);,
        }
    }
}

/// A filter that is on or off.
#[derive(Debug, Clone)]
pub struct FilterChip {
    /// Name in tests: `filter-` and this.
    pub key: String,
    /// Words.
    pub label: String,
    /// The list with the filter turned.
    pub href: String,
    /// Rows or cells that it would leave, if they are counted.
    pub count: Option<u64>,
    /// True if it is on.
    pub is_on: bool,
}

/// Renders chips as links.
pub fn chips(label: &str, chips: &[FilterChip]) -> Markup {
    html! {
        nav aria-label=(line(label)) {
            ul.chips.plain-list {
                @for chip in chips {
                    li {
                        a.button.chip href=(chip.href) data-testid={ "filter-" (line(&chip.key)) } aria-current=[chip.is_on.then_some("true")] {
                            (line(&chip.label))
                            @if let Some(number) = chip.count { " " span.count { (count(number)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Renders remarks on the address, such as a value that was not understood.
pub fn notices(notices: &[String]) -> Markup {
    html! {
        @if !notices.is_empty() {
            div.notices role="status" data-testid="notice" { ul.plain-list { @for notice in notices { li { (Words(notice)) } } } }
        }
    }
}
