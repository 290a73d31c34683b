//! The parts that make and record load, whatever is asked: shared-nothing threads with static dispatch ([`lane`],
//! [`worker`]), the
//! threads of one host together ([`generator`]), and what a run of them measured ([`run`], [`measure`]).

#![forbid(unsafe_code)]

pub mod clock;
pub mod completed;
pub mod counters;
pub mod datum;
pub mod durations;
pub mod error;
pub mod gate;
pub mod generator;
pub mod lag;
pub mod lane;
pub mod lock_watch;
pub mod measure;
pub mod observer;
pub mod overlap;
pub mod pacer;
pub mod pool;
pub mod recorder;
pub mod rng;
pub mod run;
pub mod series;
pub mod stream;
pub mod surroundings;
pub mod traffic;
pub mod worker;
