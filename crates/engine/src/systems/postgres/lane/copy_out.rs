//! A command with one long stream of copied data.

use std::io;

use wire::WireError;
use wire::postgres::{Event, Rows, frontend};

use super::login::{LoginError, Opened, read};
use crate::error::Failure;

/// Several of the server's messages.
const READ_BYTES: usize = 1 << 18;

pub(crate) enum CopyError {
    /// Or the connection.
    Server(LoginError),
    /// The consumer.
    Taker(Failure),
}

impl<E: Into<LoginError>> From<E> for CopyError {
    fn from(error: E) -> CopyError {
        CopyError::Server(error.into())
    }
}

impl Opened {
    /// Passes data to `take`, and a result's row to `row`.
    pub(crate) fn copy_out(
        &mut self,
        command: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), CopyError> {
        let mut out = Vec::new();
        frontend::query(command, &mut out)?;
        self.channel.send(&out)?;
        self.scanner.set_rows(Rows::Keep);
        let mut buffer = vec![0; READ_BYTES];
        let mut opened = Vec::new();
        let mut refusal = None;
        loop {
            let mut input = match &self.channel.tls {
                None => {
                    let bytes = read(&self.channel.socket, &mut buffer)?;
                    &buffer[..bytes]
                }
                Some(_) => {
                    opened.clear();
                    self.channel.receive(&mut opened)?;
                    &opened[..]
                }
            };
            if input.is_empty() {
                let closed = io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection");
                return Err(refusal.map_or(closed.into(), LoginError::Server).into());
            }
            while let Some(event) = self.scanner.next(&mut input)? {
                match event {
                    Event::CopyData(data) => take(data).map_err(CopyError::Taker)?,
                    Event::Error(error) => refusal = refusal.or(Some(error)),
                    Event::Ready(_) => {
                        return match refusal {
                            Some(error) => Err(LoginError::Server(error).into()),
                            None => Ok(()),
                        };
                    }
                    Event::CopyIn(_) => return Err(WireError::Protocol("the server wants data").into()),
                    _ => {}
                }
            }
        }
    }

    /// Waits until the server's process has gone, so that its cost can be counted.
    pub(crate) fn leave(mut self) {
        let mut out = Vec::new();
        frontend::terminate(&mut out);
        // It may have gone.
        if self.channel.send(&out).is_ok() {
            let mut rest = Vec::new();
            while self.channel.receive(&mut rest).unwrap_or(false) {
                rest.clear();
            }
        }
    }
}
