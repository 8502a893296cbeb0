//! The gate as a service: HTTP in front of a [`Gate`](crate::gate::Gate).
//!
//! In: requests on a socket, and who may ask. Out: answers as JSON, and counts of what was answered. Never: decides, takes
//! the word of a body for who asks, opens a policy, or answers a check with anything but the verdict of the gate.

mod answers;
mod body;
mod connection;
mod decisions;
mod door;
mod handlers;
mod listen;
mod metrics;
mod openapi;
mod patient;
mod problem;
mod routes;
mod rules;
mod seats;
mod server;
mod tls;
mod tokens;
mod wire;

pub use crate::serve::door::Peers;
pub use crate::serve::listen::{Address, AddressError};
pub use crate::serve::openapi::document;
pub use crate::serve::server::{Limits, Notice, ServeError, Server, Setup};
pub use crate::serve::tls::{Tls, TlsError};
pub use crate::serve::tokens::{NewToken, Scope, Tokens, TokensError};
