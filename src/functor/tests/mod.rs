use super::*;

mod command;
mod command_forms;
mod command_property;
mod json;
mod number;
mod pattern;
mod property;
mod text;
mod unicode;
mod url;

/// A fault in our own code, for tests of what stands around it.
pub(crate) const ENTRIES: &[Entry] = &[Entry::total("panics", &[call::text("text")], |c, _| {
    let text = c.text(0)?;
    assert!(text != "now", "as it was asked to");
    call::flag(false)
})
.gives(Kind::Unsigned, "0, and a panic for `now`.")];

/// An argument. The symbol of a text is its place, which keeps the texts of one call apart.
enum Given {
    T(&'static str),
    N(i64),
    U(u64),
    F(f64),
}

use Given::F;
use Given::N;
use Given::T;
use Given::U;

fn arguments(given: &[Given]) -> Vec<Argument<'_>> {
    let of = |(place, given): (usize, &Given)| match *given {
        T(text) => Argument::Text(text, Symbol(u32::try_from(place).unwrap())),
        N(value) => Argument::Number(value),
        U(value) => Argument::Unsigned(value),
        F(value) => Argument::Float(value),
    };
    given.iter().enumerate().map(of).collect()
}

fn kind_of(argument: &Argument<'_>) -> Kind {
    match argument {
        Argument::Text(..) => Kind::Symbol,
        Argument::Number(_) => Kind::Number,
        Argument::Unsigned(_) => Kind::Unsigned,
        Argument::Float(_) => Kind::Float,
    }
}

/// The value as text, `none`, values between bars, or `error: …`.
fn shown(name: &str, given: &[Given]) -> String {
    let arguments = arguments(given);
    let candidates = [overloads(name, false), overloads(name, true)].concat();
    let fits = |id: &&FunctorId| {
        let functor = &table()[usize::from(id.0)];
        functor.variadic || functor.parameters.iter().map(|p| p.kind).eq(arguments.iter().map(kind_of))
    };
    let id = *candidates.iter().find(fits).unwrap_or_else(|| panic!("no `{name}` takes these"));
    let mut cache = Cache::default();
    let text = |output: Output| match output {
        Output::Text(text) => text,
        Output::Number(value) => value.to_string(),
        Output::Unsigned(value) => value.to_string(),
        Output::Float(value) => format!("{value:?}"),
    };
    let result = if table()[usize::from(id.0)].mode == Mode::Generator {
        generate(id, &arguments, &mut cache).map(|values| {
            values.into_iter().map(|value| format!("|{}", text(value))).collect::<String>() + "|"
        })
    } else {
        call(id, &arguments, &mut cache).map(|value| value.map_or("none".to_owned(), text))
    };
    result.unwrap_or_else(|error| format!("error: {error}"))
}

fn check(name: &str, rows: &[(&[Given], &str)]) {
    for (row, (given, expected)) in rows.iter().enumerate() {
        assert_eq!(shown(name, given), *expected, "{name}, row {row}");
    }
}

/// Rows of one text in and one text out.
fn check_texts(name: &str, rows: &[(&'static str, &str)]) {
    for (given, expected) in rows {
        assert_eq!(shown(name, &[T(given)]), *expected, "{name} of {given:?}");
    }
}

/// Rows of one text in, under which the flag is set.
fn check_flag(name: &str, flag: &str, rows: &[&'static str]) {
    for given in rows {
        assert_eq!(shown(name, &[T(given)]), flag, "{name} of {given:?}");
    }
}

#[test]
fn the_table_is_sorted_and_found_by_name() {
    let names: Vec<_> = table().iter().map(|functor| (functor.name, functor.intrinsic)).collect();
    assert!(names.is_sorted());
    for (place, functor) in table().iter().enumerate() {
        let id = FunctorId(u16::try_from(place).unwrap());
        assert!(overloads(functor.name, functor.intrinsic).contains(&id), "{}", functor.name);
        assert!(functor.documentation.ends_with('.'), "{}", functor.name);
    }
    assert_eq!(find("str_len", true), None);
    assert_eq!(find("strlen", false), None);
    assert_eq!(find("nothing", false), None);
    assert_eq!(overloads("to_string", true).len(), 4);
}

#[test]
fn every_promised_functor_is_there() {
    let named = "json_get_str json_get_int json_has_field json_get_str_path json_get_int_path json_array_len \
        json_array_get_str json_array_get_field_str json_object_has_key json_object_field_int json_str json_int \
        json_unsigned json_float json_bool json_value json_type json_each json_each_str json_each_int json_keys \
        json_walk_str str_contains str_starts_with str_ends_with str_to_lower str_len str_chars str_trim str_nfkc \
        str_fold str_replace str_split regex_find regex_is_match regex_captures glob_match path_normalize sha256_hex \
        url_host url_scheme url_port url_path host_is_private registrable_domain host_in_domain count_urls urls_in \
        email_domain hours_between seconds_between epoch_seconds weekday hour_of_day llm_check_fn \
        has_unicode_tags has_deceptive_unicode deceptive_unicode_class decode_unicode_tags deceptive_unicode_summary normalize_cmd dangerous_rm \
        cmd_invokes cmd_runs_sub cmd_egress_class cmd_hidden_in_code";
    for name in named.split_whitespace() {
        assert!(find(name, false).is_some(), "{name}");
    }
    for name in "match contains cat strlen substr to_number to_unsigned to_float to_string".split(' ') {
        assert!(find(name, true).is_some(), "{name}");
    }
}

#[test]
fn wrong_calls_are_refused() {
    let mut cache = Cache::default();
    let id = find("str_len", false).unwrap();
    let refused = Err(FunctorError::Arguments { functor: "str_len" });
    assert_eq!(call(id, &[], &mut cache), refused);
    assert_eq!(call(id, &[Argument::Number(1)], &mut cache), refused);
    assert!(generate(id, &[Argument::Text("", Symbol(0))], &mut cache).is_err());
    assert!(call(FunctorId(u16::MAX), &[], &mut cache).is_err());
}
