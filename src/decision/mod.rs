//! A model to a decision.
//!
//! In: a program and the model of one request. Out: one [`Decision`] for each action, with its reasons and routes.
//! Never: allows after a fault.

mod judge;

pub use judge::{Judged, Question, Roots, Subject, concerning, decide, denied_by_error};

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run once a person has said yes to this very call.
    Ask,
    /// It may not run.
    Deny,
}

impl Verdict {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Why, in the order in which reasons are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonKind {
    /// No principal.
    NotAuthenticated,
    /// A deny rule fired.
    Denied,
    /// An ask rule fired.
    ApprovalRequired,
    /// No allow rule fired.
    NotAllowed,
    /// Judging failed.
    EngineError,
}

impl ReasonKind {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAuthenticated => "not_authenticated",
            Self::Denied => "denied",
            Self::ApprovalRequired => "approval_required",
            Self::NotAllowed => "not_allowed",
            Self::EngineError => "engine_error",
        }
    }
}

/// One reason of a decision. Sorted by kind, file, line, text; no two are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// Which kind.
    pub kind: ReasonKind,
    /// File of the rule; empty where no rule takes part.
    pub file: String,
    /// Line of the rule's head; 0 where no rule takes part.
    pub line: u32,
    /// For a person: the message with its placeholders filled, or our words.
    pub text: String,
    /// `@id`, or `Relation@file:line`; empty where no rule takes part.
    pub rule: String,
    /// What to do instead, in order.
    pub suggestions: Vec<String>,
}

/// What became of one allow rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteStatus {
    /// Something fixed in this request rules it out.
    Blocked,
    /// Something is still missing.
    Possible,
}

impl RouteStatus {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Possible => "possible",
        }
    }
}

/// How far an allow rule that did not fire came.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// `@id`, or `IsAuthorized@file:line`.
    pub rule: String,
    /// What became of it.
    pub status: RouteStatus,
    /// Line of the first literal that failed.
    pub line: u32,
    /// That literal as written.
    pub text: String,
    /// Whether the literal asks for another tool or kind of action, so that the rule is about other actions.
    pub elsewhere: bool,
}

/// The answer to one action, with everything about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// Why not; empty for an allowed action.
    pub reasons: Vec<Reason>,
    /// For an action that no rule allows: each allow rule that concerns it.
    pub routes: Vec<Route>,
    /// `ApplyTransform` rows of the action, sorted.
    pub transforms: Vec<String>,
    /// `AllowPassthrough` holds.
    pub passthrough: bool,
    /// `DenyUnauthorized` holds.
    pub refuse_aloud: bool,
}

impl Decision {
    /// A denial for one reason.
    #[must_use]
    pub fn deny(reason: Reason) -> Self {
        Self {
            verdict: Verdict::Deny,
            reasons: vec![reason],
            routes: Vec::new(),
            transforms: Vec::new(),
            passthrough: false,
            refuse_aloud: false,
        }
    }

    /// The denial of what could not be judged.
    #[must_use]
    pub fn fault(text: String) -> Self {
        let (file, rule) = (String::new(), String::new());
        Self::deny(Reason {
            kind: ReasonKind::EngineError,
            file,
            line: 0,
            text,
            rule,
            suggestions: Vec::new(),
        })
    }
}
