//! Records and requests to facts.
//!
//! In: the [`Graph`](crate::records::Graph) of a session and a request. Out: tuples of the host's relations. Never: judges.
