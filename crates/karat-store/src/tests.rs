//! The store as the engine, the analyses and the reports use it, and what happens when something breaks.

mod company;
mod crash;
mod fixture;
mod given;
mod later;
mod limits;
mod model;
mod processes;
mod reading;
mod resume;
mod reuse;
mod withdraw;
