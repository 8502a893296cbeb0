use proptest::prelude::*;

use super::json::DOCUMENT;
use super::*;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        r#"[\[\]{}",:0-9a-z.\\ue+-]{0,40}"#,
        r#"(https?|ftp|x|mailto)?:?/{0,3}[a-z0-9.@:\[\]%?#\\ -]{0,30}"#,
        r"[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9]{0,12})?(Z|[+-][0-2][0-9]:[0-5][0-9])?",
        r"[a-z*?/.()|\[\]+^$\\d-]{0,20}",
        Just(DOCUMENT.to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_is_answered_twice_alike_and_in_bounds(
        texts in prop::collection::vec(any_text(), 4),
        number in any::<i64>(),
        small in -2i64..10,
        float in any::<f64>(),
    ) {
        let mut cache = Cache::default();
        let size: usize = texts.iter().map(String::len).sum();
        for (place, functor) in table().iter().enumerate() {
            let id = FunctorId(u16::try_from(place).unwrap());
            for number in [number, small] {
                let given: Vec<_> = functor.parameters.iter().zip(&texts).enumerate().map(|(place, (parameter, text))| {
                    match parameter.kind {
                        Kind::Number => Argument::Number(number),
                        Kind::Unsigned => Argument::Unsigned(number.cast_unsigned()),
                        Kind::Float => Argument::Float(float),
                        Kind::Symbol | Kind::Compound => Argument::Text(text, Symbol(u32::try_from(place).unwrap())),
                    }
                }).collect();
                let run = |cache: &mut Cache| match functor.mode {
                    Mode::Generator => generate(id, &given, cache).map(|values| (values.len(), values)),
                    Mode::Total | Mode::Partial => call(id, &given, cache)
                        .map(|value| (usize::MAX, value.into_iter().collect())),
                };
                let (first, again) = (run(&mut cache), run(&mut Cache::default()));
                prop_assert_eq!(format!("{first:?}"), format!("{again:?}"), "{}", functor.name);
                match first {
                    Ok((count, values)) => {
                        prop_assert!(functor.mode != Mode::Total || values.len() == 1, "{}", functor.name);
                        prop_assert!(count == usize::MAX || count <= size + 1, "{}", functor.name);
                        let bytes: usize = values.iter().map(bytes).sum();
                        prop_assert!(bytes <= 400 + 36 * (size + 1) * (size + 1), "{}", functor.name);
                        prop_assert!(values.iter().all(|value| kind(value) == functor.result), "{}", functor.name);
                    }
                    Err(error) => prop_assert!(functor.fallible, "{}: {error}", functor.name),
                }
            }
        }
    }

    #[test]
    fn folding_and_plain_paths_are_reached_in_one_step(text in any_text()) {
        for name in ["str_fold", "str_nfkc", "path_normalize", "str_trim"] {
            let id = find(name, false).unwrap();
            let mut cache = Cache::default();
            let once = call(id, &[Argument::Text(&text, Symbol(0))], &mut cache).unwrap().unwrap();
            let Output::Text(once) = once else { panic!("{name} gives a text") };
            let twice = call(id, &[Argument::Text(&once, Symbol(1))], &mut cache).unwrap();
            prop_assert_eq!(twice, Some(Output::Text(once)), "{}", name);
        }
    }

    #[test]
    fn canonical_json_is_json_of_the_same_value(text in any_text()) {
        if let Ok(value) = crate::json::parse(&text) {
            let canonical = value.canonical();
            let again = crate::json::parse(&canonical).unwrap();
            prop_assert_eq!(again.canonical(), canonical);
        }
    }
}

fn bytes(value: &Output) -> usize {
    match value {
        Output::Text(text) => text.len(),
        Output::Number(_) | Output::Unsigned(_) | Output::Float(_) => 0,
    }
}

fn kind(value: &Output) -> Kind {
    match value {
        Output::Text(_) => Kind::Symbol,
        Output::Number(_) => Kind::Number,
        Output::Unsigned(_) => Kind::Unsigned,
        Output::Float(_) => Kind::Float,
    }
}
