//! biscuit-auth, which evaluates every rule over every fact again in each round.

use std::fmt::Write as _;
use std::time::Duration;

use biscuit_auth::AuthorizerLimits;
use biscuit_auth::builder::AuthorizerBuilder;
use biscuit_auth::error::{Logic, Token};

use crate::fault::{Fault, Outcome};
use crate::ours::Answer;
use crate::peers::Facts;

/// The largest session that it is asked about: its time grows with the square, a round for each message.
pub const MOST: usize = 100;

/// Its answer from cold facts, with its limits raised. Edges to what passes nothing on are left out beforehand, since its
/// rules have no negation.
///
/// # Errors
/// Where it fails.
pub fn answer(facts: &Facts, amount: i64) -> Outcome<Answer> {
    let mut text = String::new();
    for (dest, source) in facts.passing() {
        let _ = writeln!(text, "edge({dest}, {source});");
    }
    for record in &facts.current {
        let _ = writeln!(text, "current({record});");
    }
    for record in &facts.wanted {
        let _ = writeln!(text, "wanted({record});");
    }
    let _ = write!(
        text,
        "amount({amount});
         reached($record) <- current($record);
         reached($source) <- reached($dest), edge($dest, $source);
         deny if amount($amount), $amount > 100, reached($record), wanted($record);
         allow if amount($amount), $amount > 0;"
    );
    let limits = AuthorizerLimits {
        max_facts: u64::MAX,
        max_iterations: u64::MAX,
        max_time: Duration::from_secs(3_600),
    };
    let fault = |error: Token| Fault::new(format!("biscuit-auth: {error}"));
    let builder = AuthorizerBuilder::new().code(text).map_err(fault)?.set_limits(limits);
    let mut authorizer = builder.build_unauthenticated().map_err(fault)?;
    match authorizer.authorize() {
        Ok(_) => Ok(Answer::Yes),
        Err(Token::FailedLogic(Logic::Unauthorized { .. })) => Ok(Answer::No),
        Err(error) => Err(fault(error)),
    }
}
