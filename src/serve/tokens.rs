//! Tokens: who holds one, and what it is for. What is kept of a token is its hash.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::json;
use crate::monitor::Caller;

/// What the hash of a token stands behind.
const SHA256: &str = "sha256:";

/// How a token of ours begins, so that a scanner for secrets knows it.
const MARK: &str = "gatelog_";

/// The tenant of a token that names none.
const TENANT: &str = "default";

/// Random bytes of a token.
const LENGTH: usize = 32;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Tells of sessions, asks for verdicts, and reports results.
    Run,
    /// Answers for a person.
    Approve,
    /// Looks after the gate: violations, policies, metrics.
    Administer,
}

impl Scope {
    /// The name in messages and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Approve => "approve",
            Self::Administer => "administer",
        }
    }
}

/// Why a file of tokens is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum TokensError {
    #[error(
        "it is no list of tokens: {why}; write `[{{\"hash\": \"sha256:…\", \"principal\": \"…\"}}]`, as `gatelog serve token` \
         prints it"
    )]
    Unreadable { why: String },
    #[error(
        "token {number} has the hash `{hash}`: write `sha256:` and 64 hexadecimal digits, not the token itself"
    )]
    NoHash { number: usize, hash: String },
    #[error("token {number} has an empty `{what}`")]
    Empty { number: usize, what: &'static str },
    #[error("token {number} has the hash of one before it: each token stands there once")]
    Twice { number: usize },
    #[error("it holds no token, and nobody could ask: make one with `gatelog serve token`")]
    None,
    #[error("the system gives no random bytes: {why}")]
    NoRandom { why: String },
}

/// A token as its file has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `hash` and `principal`")]
struct Row {
    hash: String,
    principal: String,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default = "default_tenant")]
    tenant: String,
    #[serde(default = "default_scopes")]
    scopes: Vec<Scope>,
}

fn default_tenant() -> String {
    TENANT.to_owned()
}

fn default_scopes() -> Vec<Scope> {
    vec![Scope::Run]
}

/// Who asks, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Principal, roles and tenant.
    pub(crate) caller: Caller,
    /// What it may ask for.
    pub(crate) scopes: Vec<Scope>,
}

impl Holder {
    /// The tenant of all that it asks about.
    pub(crate) fn tenant(&self) -> &str {
        self.caller.tenant.as_deref().unwrap_or(TENANT)
    }

    /// Whether it may ask for that.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// The tokens that a service knows.
// Invariant: at least one, and no hash twice.
#[derive(Debug, Clone)]
pub struct Tokens {
    known: Vec<([u8; 32], Holder)>,
}

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// Where it is no list of tokens, holds none, or one of them twice.
    ///
    /// ```
    /// use gatelog::serve::Tokens;
    /// let hash = format!("sha256:{}", "0".repeat(64));
    /// assert!(Tokens::read(&format!(r#"[{{"hash": "{hash}", "principal": "ann"}}]"#)).is_ok());
    /// assert!(Tokens::read("[]").is_err());
    /// ```
    pub fn read(text: &str) -> Result<Self, TokensError> {
        let unreadable = |why: String| TokensError::Unreadable { why };
        json::parse(text).map_err(|fault| unreadable(fault.to_string()))?;
        let rows: Vec<Row> = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        let mut known: Vec<([u8; 32], Holder)> = Vec::with_capacity(rows.len());
        let mut seen = std::collections::BTreeSet::new();
        for (at, row) in rows.into_iter().enumerate() {
            let number = at + 1;
            let hash = digest_of(&row.hash)
                .ok_or_else(|| TokensError::NoHash { number, hash: shown(&row.hash).to_owned() })?;
            for (what, empty) in [
                ("principal", row.principal.is_empty()),
                ("tenant", row.tenant.is_empty()),
                ("scopes", row.scopes.is_empty()),
            ] {
                if empty {
                    return Err(TokensError::Empty { number, what });
                }
            }
            if !seen.insert(hash) {
                return Err(TokensError::Twice { number });
            }
            let caller = Caller {
                principal: Some(row.principal),
                roles: row.roles,
                entity: None,
                tenant: Some(row.tenant),
            };
            known.push((hash, Holder { caller, scopes: row.scopes }));
        }
        if known.is_empty() { Err(TokensError::None) } else { Ok(Self { known }) }
    }

    /// Who holds a token. Every hash is compared, each in the same time whatever it is.
    pub(crate) fn holder(&self, token: &[u8]) -> Option<&Holder> {
        let hash: [u8; 32] = Sha256::digest(token).into();
        let mut found = None;
        for (known, holder) in &self.known {
            if bool::from(known.ct_eq(&hash)) {
                found = Some(holder);
            }
        }
        found
    }
}

/// The beginning of what stands where a hash should: it may be a token.
fn shown(text: &str) -> &str {
    text.get(..SHA256.len()).unwrap_or_default()
}

fn digest_of(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(SHA256)?;
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut digest = [0_u8; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(digest)
}

/// A token that was just made.
#[derive(Debug)]
pub struct NewToken {
    /// What its holder sends; kept nowhere.
    pub token: String,
    /// Its object for the file of tokens, on one line.
    pub line: String,
}

impl NewToken {
    /// Makes a token.
    ///
    /// # Errors
    /// Where the system has no random bytes.
    pub fn make(caller: &Caller, scope: Scope) -> Result<Self, TokensError> {
        let mut bytes = [0_u8; LENGTH];
        getrandom::fill(&mut bytes).map_err(|error| TokensError::NoRandom { why: error.to_string() })?;
        let token = format!("{MARK}{}", hexadecimal(&bytes));
        let row = Row {
            hash: format!("{SHA256}{}", hexadecimal(&Sha256::digest(token.as_bytes()))),
            principal: caller.principal.clone().unwrap_or_default(),
            roles: caller.roles.clone(),
            tenant: caller.tenant.clone().unwrap_or_else(default_tenant),
            scopes: vec![scope],
        };
        let line = serde_json::to_string(&row)
            .map_err(|error| TokensError::Unreadable { why: error.to_string() })?;
        Ok(Self { token, line })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_token_is_known_by_its_hash() {
        let caller = Caller { principal: Some("ann".to_owned()), ..Caller::default() };
        let made = NewToken::make(&caller, Scope::Approve).unwrap();
        assert!(!made.line.contains(&made.token));
        let tokens = Tokens::read(&format!("[{}]", made.line)).unwrap();
        let holder = tokens.holder(made.token.as_bytes()).unwrap();
        assert_eq!((holder.caller.principal.as_deref(), holder.tenant()), (Some("ann"), "default"));
        assert_eq!((holder.may(Scope::Approve), holder.may(Scope::Run)), (true, false));
        assert!(tokens.holder(b"").is_none() && tokens.holder(made.line.as_bytes()).is_none());
    }

    #[test]
    fn files_that_would_let_in_nobody_or_anybody_are_refused() {
        let hash = format!("sha256:{}", "ab".repeat(32));
        let row = |more: &str| format!(r#"{{"hash":"{hash}","principal":"p"{more}}}"#);
        let rows = [
            ("[]".to_owned(), "holds no token"),
            ("{}".to_owned(), "no list"),
            (r#"[{"hash":"secret-token","principal":"p"}]"#.to_owned(), "`secret-`"),
            (format!("[{},{}]", row(""), row("")), "one before"),
            (format!("[{}]", row(r#","scopes":[]"#)), "empty `scopes`"),
            (format!("[{}]", row(r#","scopes":["root"]"#)), "unknown variant `root`"),
            (format!("[{}]", row(r#","tenant":"""#)), "empty `tenant`"),
            (format!("[{}]", row(r#","admin":true"#)), "unknown field `admin`"),
            (format!("[{}]", row(r#","principal":"q""#)), "twice"),
        ];
        for (text, words) in rows {
            let error = Tokens::read(&text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
