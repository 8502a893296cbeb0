use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::functor::FunctorError;
use crate::functor::call::shown;
use crate::functor::command::Reading;
use crate::functor::pattern;
use crate::functor::pattern::Form;
use crate::functor::pattern::Pattern;
use crate::json;
use crate::json::Json;
use crate::value::Symbol;

/// Bytes that one generation of parsed JSON may take; two generations are kept.
const JSON_BYTES: usize = 32 << 20;
/// Bytes that one generation of commands that were read may take.
const COMMAND_BYTES: usize = 32 << 20;
/// Bytes that one generation of compiled patterns of one form may take.
const PATTERN_BYTES: usize = 32 << 20;

/// What calls remember: parsed JSON texts and shell commands by symbol, compiled patterns by text.
///
/// Bounded: two generations of at most 32 MiB of JSON, of 32 MiB of commands, and of 32 MiB of patterns for each of the
/// three ways to read one; a single value larger than that stays until the next one comes. A text that is no JSON is remembered as such.
#[derive(Debug)]
pub struct Cache {
    parsed: Recent<Symbol, Option<Json>>,
    commands: Recent<Symbol, Reading>,
    whole: Recent<String, Pattern>,
    anywhere: Recent<String, Pattern>,
    globs: Recent<String, Pattern>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            parsed: Recent::new(JSON_BYTES),
            commands: Recent::new(COMMAND_BYTES),
            whole: Recent::new(PATTERN_BYTES),
            anywhere: Recent::new(PATTERN_BYTES),
            globs: Recent::new(PATTERN_BYTES),
        }
    }
}

impl Cache {
    /// Forgets what is keyed by this symbol or a later one (see [`crate::value::Pool::reset`]).
    pub fn forget_from(&mut self, first: Symbol) {
        self.parsed.forget_from(&first);
        self.commands.forget_from(&first);
    }

    /// The value of a JSON text, or nothing where it is none.
    pub(crate) fn json(&mut self, (text, symbol): (&str, Symbol)) -> Option<&Json> {
        let parse = || {
            let value = json::parse(text).ok();
            let weight = value.as_ref().map_or(64, weight);
            (value, weight)
        };
        self.parsed.value(&symbol, parse)?.as_ref()
    }

    /// What a shell command runs; nothing where that could not be kept.
    pub(crate) fn command(&mut self, (text, symbol): (&str, Symbol)) -> Option<&Reading> {
        let read = || {
            let reading = Reading::of(text);
            let weight = reading.weight();
            (reading, weight)
        };
        self.commands.value(&symbol, read)
    }

    /// The compiled pattern.
    ///
    /// # Errors
    /// [`FunctorError::Pattern`] where it is none.
    pub(crate) fn pattern(&mut self, form: Form, text: &str) -> Result<&regex::Regex, FunctorError> {
        let kept = match form {
            Form::Whole => &mut self.whole,
            Form::Anywhere => &mut self.anywhere,
            Form::Glob => &mut self.globs,
        };
        let fault = |why: &str| FunctorError::Pattern { pattern: shown(text), why: why.to_owned() };
        match kept.value(text, || pattern::compile(form, text)) {
            Some(Ok(regex)) => Ok(regex),
            Some(Err(why)) => Err(fault(why)),
            None => Err(fault("it could not be kept")),
        }
    }
}

/// Values by key, with those that were not asked for of late dropped.
///
/// A value enters the young generation when it is made or asked for. When that is full, it becomes the old one, and
/// the old one goes.
// Invariant: `weight` is the sum of the weights in `young`, and no key is in both generations.
#[derive(Debug)]
struct Recent<K, V> {
    young: BTreeMap<K, (V, usize)>,
    old: BTreeMap<K, (V, usize)>,
    weight: usize,
    limit: usize,
}

impl<K: Ord, V> Recent<K, V> {
    fn new(limit: usize) -> Self {
        Self { young: BTreeMap::new(), old: BTreeMap::new(), weight: 0, limit }
    }

    /// The value of the key, made by `make` (which gives its weight too) where it is not there.
    fn value<Q>(&mut self, key: &Q, make: impl FnOnce() -> (V, usize)) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        if !self.young.contains_key(key) {
            let (value, weight) = self.old.remove(key).unwrap_or_else(make);
            if self.weight.saturating_add(weight) > self.limit {
                self.old = std::mem::take(&mut self.young);
                self.weight = 0;
            }
            self.weight = self.weight.saturating_add(weight);
            self.young.insert(key.to_owned(), (value, weight));
        }
        self.young.get(key).map(|(value, _)| value)
    }

    fn forget_from(&mut self, first: &K) {
        let gone: usize = self.young.split_off(first).into_values().map(|(_, weight)| weight).sum();
        self.weight = self.weight.saturating_sub(gone);
        self.old.split_off(first);
    }
}

/// Bytes that a value takes, about. The depth of a parsed value is bounded by [`json::MAX_DEPTH`].
fn weight(value: &Json) -> usize {
    const NODE: usize = size_of::<Json>();
    const ALLOCATION: usize = 16;
    match value {
        Json::Null | Json::Bool(_) => NODE,
        Json::Number(text) | Json::Text(text) => NODE + ALLOCATION + text.len(),
        Json::Array(items) => NODE + ALLOCATION + items.iter().map(weight).sum::<usize>(),
        Json::Object(fields) => {
            let field = |(key, value): &(Box<str>, Json)| 2 * ALLOCATION + key.len() + weight(value);
            NODE + ALLOCATION + fields.iter().map(field).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_parsed_once_and_forgotten_when_told() {
        let mut cache = Cache::default();
        assert_eq!(cache.json(("1", Symbol(3))), Some(&Json::Number("1".into())));
        // The symbol is the key: the text is not read again.
        assert_eq!(cache.json(("2", Symbol(3))), Some(&Json::Number("1".into())));
        assert_eq!(cache.json(("{", Symbol(4))), None);
        assert_eq!(cache.json(("7", Symbol(4))), None);
        cache.forget_from(Symbol(4));
        assert_eq!(cache.json(("2", Symbol(3))), Some(&Json::Number("1".into())));
        assert_eq!(cache.json(("7", Symbol(4))), Some(&Json::Number("7".into())));
        cache.forget_from(Symbol(0));
        assert_eq!(cache.json(("2", Symbol(3))), Some(&Json::Number("2".into())));
    }

    #[test]
    fn generations_are_bounded() {
        let mut recent: Recent<Symbol, u32> = Recent::new(10);
        for i in 0..100 {
            assert_eq!(recent.value(&Symbol(i), || (i, 3)), Some(&i));
            // The first one is asked for all the time and so never made again.
            assert_eq!(recent.value(&Symbol(0), || (1000, 3)), Some(&0));
            assert!(recent.young.len() + recent.old.len() <= 6);
            assert!(recent.weight <= 10);
        }
        assert_eq!(recent.value(&Symbol(1), || (77, 50)), Some(&77));
        assert_eq!(recent.young.len(), 1);
        recent.forget_from(&Symbol(0));
        assert_eq!((recent.young.len(), recent.old.len(), recent.weight), (0, 0, 0));
    }
}
