//! The codecs against real servers, started privately, and against hostile bytes.
//!
//! One binary, so that each server is started once.

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod my_auth;
#[cfg(test)]
mod my_client;
#[cfg(test)]
mod my_fuzz;
#[cfg(test)]
mod my_server;
#[cfg(test)]
mod my_session;
#[cfg(test)]
mod my_statements;
#[cfg(test)]
mod pg_auth;
#[cfg(test)]
mod pg_client;
#[cfg(test)]
mod pg_copy;
#[cfg(test)]
mod pg_fuzz;
#[cfg(test)]
mod pg_modes;
#[cfg(test)]
mod pg_pipeline;
#[cfg(test)]
mod pg_server;
#[cfg(test)]
mod pg_session;
#[cfg(test)]
mod private;
#[cfg(test)]
mod tds_fuzz;
#[cfg(test)]
mod transport;
