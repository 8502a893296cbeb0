//! Who asks: by a token, by the other end of a socket, or by nothing but being on this machine.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use hyper::http::uri::{Authority, Uri};
use hyper::{Request, StatusCode};
use url::form_urlencoded;

use crate::monitor::Caller;
use crate::serve::problem::Problem;
use crate::serve::tokens::{Holder, Scope, Tokens};

/// Keys of a query that look as if they held a token.
const TOKEN_KEYS: &[&str] =
    &["access_token", "api_key", "apikey", "auth", "authorization", "bearer", "key", "token"];

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over the network, or from this machine by way of it.
    Tcp,
    /// A process of that user of this machine.
    Unix { uid: u32 },
}

/// Users whose processes may ask through a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peers {
    /// The service's own user.
    pub own: u32,
    /// Others.
    pub also: Vec<u32>,
}

impl Peers {
    /// The user of this process, and these.
    #[must_use]
    pub fn new(also: Vec<u32>) -> Self {
        Self { own: rustix::process::geteuid().as_raw(), also }
    }

    /// Whether processes of that user may ask.
    pub(crate) fn admits(&self, uid: u32) -> bool {
        uid == self.own || self.also.contains(&uid)
    }
}

/// What is looked at to know who asks.
#[derive(Debug)]
pub(crate) struct Door {
    /// Tokens; without them whoever reaches the socket is the local caller.
    pub(crate) tokens: Option<Tokens>,
    /// Who asks where there are no tokens.
    pub(crate) local: Caller,
    /// The service's own user.
    pub(crate) own: u32,
}

impl Door {
    /// What is refused before anything else is looked at: secrets in the address, and, without tokens, what a browser may
    /// have been made to send.
    pub(crate) fn inspect<B>(&self, peer: Peer, request: &Request<B>) -> Result<(), Problem> {
        no_token_in_query(request.uri())?;
        if self.tokens.is_some() {
            return Ok(());
        }
        if request.headers().contains_key(ORIGIN) {
            let text =
                "a page in a browser asks, and without tokens none may: start the service with --tokens";
            return Err(Problem::new(StatusCode::FORBIDDEN, "browser", text));
        }
        match peer {
            Peer::Tcp => local_host(request.uri(), request.headers()),
            // A browser does not reach the socket.
            Peer::Unix { .. } => Ok(()),
        }
    }

    /// Who asks.
    pub(crate) fn holder(&self, peer: Peer, headers: &HeaderMap) -> Result<Holder, Problem> {
        let Some(tokens) = &self.tokens else { return Ok(self.local(peer)) };
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let token = match (values.next(), values.next()) {
            (Some(value), None) => bearer(value.as_bytes()),
            (None, _) => None,
            (Some(_), Some(_)) => {
                let text = "there are two `Authorization` headers: send one";
                return Err(Problem::bad("two_tokens", text));
            }
        };
        let refused = |text: &str| Problem::new(StatusCode::UNAUTHORIZED, "unknown_token", text);
        let token = token.ok_or_else(|| refused("send a token: `Authorization: Bearer TOKEN`"))?;
        tokens.holder(token).cloned().ok_or_else(|| refused("the token is not known"))
    }

    /// Who asks without a token.
    fn local(&self, peer: Peer) -> Holder {
        let caller = match peer {
            Peer::Unix { uid } if uid != self.own => {
                let principal = Some(format!("uid:{uid}"));
                Caller { principal, roles: Vec::new(), entity: None, tenant: self.local.tenant.clone() }
            }
            Peer::Unix { .. } | Peer::Tcp => self.local.clone(),
        };
        Holder { caller, scopes: vec![Scope::Run] }
    }
}

/// The token of an `Authorization` header.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

fn no_token_in_query(uri: &Uri) -> Result<(), Problem> {
    let Some(query) = uri.query() else { return Ok(()) };
    let is_token = |key: &str| TOKEN_KEYS.contains(&key.to_ascii_lowercase().as_str());
    if form_urlencoded::parse(query.as_bytes()).any(|(key, _)| is_token(&key)) {
        let text = "an address is no place for a token, since it ends up in logs: send `Authorization: Bearer TOKEN`, and \
                    make a new token in place of this one";
        return Err(Problem::bad("token_in_query", text));
    }
    Ok(())
}

/// That the request names this machine: a page that had its name point here names itself.
fn local_host(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let foreign = || {
        let text = "the request is for another host, and without tokens only this machine is served: ask `127.0.0.1` or \
                    `localhost`";
        Problem::new(StatusCode::FORBIDDEN, "foreign_host", text)
    };
    let mut named = headers.get_all(HOST).iter().map(|value| value.as_bytes().try_into().ok());
    let hosts: Vec<Option<Authority>> =
        uri.authority().cloned().map(Some).into_iter().chain(&mut named).collect();
    let is_local = |host: &Option<Authority>| host.as_ref().is_some_and(is_loopback);
    if !hosts.is_empty() && hosts.iter().all(is_local) { Ok(()) } else { Err(foreign()) }
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let by_number = bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    !authority.as_str().contains('@') && (by_number || bare.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served_without_tokens() {
        let door = Door { tokens: None, local: Caller::default(), own: 1 };
        let rows = [
            ("127.0.0.1:7474", None, true),
            ("localhost", None, true),
            ("LOCALHOST:1", None, true),
            ("[::1]:7474", None, true),
            ("127.0.0.1.evil.example", None, false),
            ("evil.example:7474", None, false),
            ("localhost.evil.example", None, false),
            ("evil@localhost", None, false),
            ("169.254.169.254", None, false),
            ("", None, false),
            ("localhost", Some("http://localhost"), false),
            ("localhost", Some("null"), false),
        ];
        for (host, origin, admitted) in rows {
            let mut request = Request::builder().uri("/v1/sessions").header(HOST, host);
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            let request = request.body(()).unwrap();
            assert_eq!(door.inspect(Peer::Tcp, &request).is_ok(), admitted, "{host}");
        }
        let two = Request::builder().header(HOST, "localhost").header(HOST, "evil.example").body(()).unwrap();
        assert!(door.inspect(Peer::Tcp, &two).is_err());
        let absolute = Request::builder().uri("http://evil.example/v1").header(HOST, "localhost").body(());
        assert!(door.inspect(Peer::Tcp, &absolute.unwrap()).is_err());
        assert!(door.inspect(Peer::Tcp, &Request::new(())).is_err());
    }

    #[test]
    fn another_user_of_the_machine_is_not_the_local_caller() {
        let local = Caller { principal: Some("local".to_owned()), ..Caller::default() };
        let door = Door { tokens: None, local, own: 1 };
        let principal = |peer| door.holder(peer, &HeaderMap::new()).unwrap().caller.principal.unwrap();
        assert_eq!(principal(Peer::Unix { uid: 1 }), "local");
        assert_eq!(principal(Peer::Unix { uid: 2 }), "uid:2");
        assert!(!Peers { own: 1, also: vec![3] }.admits(2));
    }

    #[test]
    fn tokens_come_in_one_header_and_nowhere_else() {
        let bytes = |text: &str| bearer(text.as_bytes()).map(<[u8]>::to_vec);
        assert_eq!(bytes("Bearer abc"), Some(b"abc".to_vec()));
        assert_eq!(bytes("bearer  abc "), Some(b"abc".to_vec()));
        for other in ["abc", "Basic abc", "Bearer", "Bearer  ", ""] {
            assert_eq!(bytes(other), None, "{other}");
        }
        for (query, admitted) in [("limit=1", true), ("token=x", false), ("a=b&Access%5FToken=x", false)] {
            let uri: Uri = format!("/v1/sessions?{query}").parse().unwrap();
            assert_eq!(no_token_in_query(&uri).is_ok(), admitted, "{query}");
        }
    }
}
