//! The binary, as its users run it.

mod bad_input;
mod bench;
mod claims;
mod faq;
mod inspect;
mod interruption;
mod kill;
mod place;
mod provider;
mod readme;
