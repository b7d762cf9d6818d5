//! A plan, compiled once a run.
//!
//! - `systems` compiles it; `ready` holds the compiled steps, systems, scorers and judges.
//! - `cascade` decides which cells the judges of a cascade are asked about.
//! - `identity` computes content keys, out of the named parts in `identity_parts`; `tokens` counts those of texts and media.
//! - `scored` names the parts of a row that metrics compare with.
//! - `joins` lists the files whose rows scorers join with cells.
//! - `privacy` removes content that must not be kept; `services` lists what the plan needs from outside.
//!
//! Read `ready`, then `systems`.

pub(crate) mod cascade;
pub(crate) mod identity;
pub(crate) mod identity_parts;
pub(crate) mod joins;
pub(crate) mod privacy;
pub(crate) mod ready;
mod scored;
pub(crate) mod services;
pub(crate) mod systems;
pub(crate) mod tokens;
