//! Which missing fields some rule notices, by the actions that the rules are about.
//!
//! In: the rules as lints read them. Out: answers for a set of actions and a key. Never: compares rules pair by pair: each
//! is entered once under every action that it names.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::program::DecisionKind;
use crate::program::lints::values::{Set, Target};
use crate::program::lints::view::{Keys, Looked, Side, View};

/// Answers about missing fields, worked out when the first is asked for.
pub(crate) struct Absences<'v, 'a> {
    view: &'v View<'a>,
    /// The keys whose absence a rule that denies looks for.
    caught_by: fn(&View<'a>, &Looked<'a>) -> Keys<'a>,
    caught: OnceCell<ByTarget<'a>>,
    /// The keys that every rule that allows calls looks at.
    demanded: OnceCell<ByTarget<'a>>,
}

impl<'v, 'a> Absences<'v, 'a> {
    pub(crate) fn new(view: &'v View<'a>, caught_by: fn(&View<'a>, &Looked<'a>) -> Keys<'a>) -> Self {
        Self { view, caught_by, caught: OnceCell::new(), demanded: OnceCell::new() }
    }

    /// Whether a deny that can be about one of these actions looks for the absence of the key.
    pub(crate) fn is_caught(&self, targets: &Set<Target>, key: &str) -> bool {
        let denies = || {
            let mut caught = ByTarget::default();
            for looked in &self.view.rules {
                if matches!(looked.side, Side::Denies | Side::Both) {
                    caught.enter(looked.targets(), &(self.caught_by)(self.view, looked), either);
                }
            }
            caught
        };
        let mut met = self.caught.get_or_init(denies).meeting(targets);
        met.any(|keys| keys.as_ref().is_none_or(|keys| keys.contains(key)))
    }

    /// Whether some rule allows such an action and never looks at the key.
    pub(crate) fn is_allowed(&self, targets: &Set<Target>, key: &str) -> bool {
        let allows = || {
            let mut demanded = ByTarget::default();
            for looked in self.view.decisions(&[DecisionKind::Allow]) {
                if !only_others(looked.targets()) {
                    demanded.enter(looked.targets(), &self.view.looked_at(looked), both);
                }
            }
            demanded
        };
        let mut met = self.demanded.get_or_init(allows).meeting(targets);
        met.any(|keys| keys.as_ref().is_some_and(|keys| !keys.contains(key)))
    }
}

/// Keys of rules by the actions that the rules are about. None where there is no rule.
#[derive(Default)]
struct ByTarget<'a> {
    /// Of all rules that are about something.
    any: Option<Keys<'a>>,
    /// Of those that may be about everything.
    all: Option<Keys<'a>>,
    of: BTreeMap<Target, Keys<'a>>,
}

impl<'a> ByTarget<'a> {
    fn enter(&mut self, targets: &Set<Target>, keys: &Keys<'a>, merge: fn(&mut Keys<'a>, &Keys<'a>)) {
        if targets.is_empty() {
            return;
        }
        let add = |slot: &mut Option<Keys<'a>>| match slot {
            Some(slot) => merge(slot, keys),
            None => *slot = Some(keys.clone()),
        };
        add(&mut self.any);
        match targets {
            Set::All => add(&mut self.all),
            Set::Only(targets) => {
                for target in targets {
                    let entry = self.of.entry(*target);
                    entry.and_modify(|slot| merge(slot, keys)).or_insert_with(|| keys.clone());
                }
            }
        }
    }

    /// The keys of the rules that can be about one of these actions, in parts.
    fn meeting<'s>(&'s self, targets: &'s Set<Target>) -> Box<dyn Iterator<Item = &'s Keys<'a>> + 's> {
        match targets {
            Set::All => Box::new(self.any.iter()),
            Set::Only(known) if known.is_empty() => Box::new(std::iter::empty()),
            Set::Only(known) => {
                Box::new(self.all.iter().chain(known.iter().filter_map(|target| self.of.get(target))))
            }
        }
    }
}

/// What is in one or the other.
fn either<'a>(keys: &mut Keys<'a>, more: &Keys<'a>) {
    match (keys.as_mut(), more) {
        (Some(keys), Some(more)) if !more.is_empty() => Rc::make_mut(keys).extend(more.iter()),
        (Some(_), Some(_)) | (None, _) => {}
        (Some(_), None) => *keys = None,
    }
}

/// What is in one and the other.
fn both<'a>(keys: &mut Keys<'a>, more: &Keys<'a>) {
    let Some(more) = more else { return };
    match keys {
        Some(keys) if keys.is_subset(more) => {}
        Some(keys) => {
            let common: BTreeSet<&'a str> = keys.intersection(more).copied().collect();
            *keys = Rc::new(common);
        }
        None => *keys = Some(Rc::clone(more)),
    }
}

/// Whether the actions are known and none is a call.
fn only_others(targets: &Set<Target>) -> bool {
    targets.known().is_some_and(|known| !known.iter().any(|target| matches!(target, Target::Tool(_))))
}
