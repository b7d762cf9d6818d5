//! Commands, and what they print.

mod agree;
mod calibration;
mod ci;
mod comment;
mod compare;
mod compare_systems;
mod flags;
mod gates;
mod help;
mod hostile;
mod init;
mod inspect;
mod progress;
