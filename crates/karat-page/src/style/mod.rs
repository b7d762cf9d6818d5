//! stub
use crate::component::shell::Document;
/// x
pub fn style_page() -> Document { Document::new("page-style", "Style", maud::html!{}) }
