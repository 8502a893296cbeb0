//! Hosts and addresses.

use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use url::Host;

use crate::functor::call::Entry;
use crate::functor::call::flag;
use crate::functor::call::text;
use crate::functor::url::host_of;
use crate::value::Kind;

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("host_is_private", &[text("host")], |c, _| flag(is_private(c.text(0)?))).gives(
        Kind::Unsigned,
        "1 for `localhost`, private, local, multicast and cloud metadata addresses in any spelling; else 0.",
    ),
    Entry::total("host_in_domain", &[text("host"), text("domain")], |c, _| {
        flag(is_inside(c.text(0)?, c.text(1)?))
    })
    .gives(Kind::Unsigned, "1 if the host is the domain or below it, label by label; else 0."),
];

/// Names by which clouds serve credentials to the machines in them.
const METADATA_NAMES: [&str; 6] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

/// The host that a text names: a name in lower-case ASCII without trailing dots, or an address in any numeric
/// spelling, in brackets or not, with or without a zone.
pub(crate) fn read(text: &str) -> Option<Host<String>> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let without_zone = inner.split('%').next().unwrap_or(inner);
    if let Ok(address) = without_zone.parse::<Ipv6Addr>() {
        return Some(Host::Ipv6(address));
    }
    let name = inner.trim_end_matches('.');
    match Host::parse(name).ok()? {
        // Dots of other scripts become plain ones, so that a name can still end in one.
        Host::Domain(name) => match name.trim_end_matches('.') {
            "" => None,
            name => Some(Host::Domain(name.to_owned())),
        },
        address => Some(address),
    }
}

/// A text that is no host by itself is read as a URL, so that a port or a scheme before a private host hides nothing.
fn is_private(text: &str) -> bool {
    let host = read(text).or_else(|| read(&host_of(text)));
    let is_local = match host {
        Some(Host::Domain(name)) => is_local_name(&name),
        Some(Host::Ipv4(address)) => is_local_v4(address),
        Some(Host::Ipv6(address)) => is_local_v6(address),
        None => false,
    };
    is_local || decimal(text).is_some_and(is_local_v4)
}

fn is_local_name(name: &str) -> bool {
    ["localhost", "localhost.localdomain"].iter().chain(&METADATA_NAMES).any(|known| is_below(name, known))
}

/// Four decimal parts. The URL standard reads a leading zero as octal; programs that do not are thought of here.
fn decimal(text: &str) -> Option<Ipv4Addr> {
    let text = text.trim().trim_end_matches('.');
    let mut parts = [0u8; 4];
    let mut written = text.split('.');
    for part in &mut parts {
        let digits = written.next()?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let plain = digits.trim_start_matches('0');
        *part = if plain.is_empty() { 0 } else { plain.parse().ok()? };
    }
    written.next().is_none().then(|| Ipv4Addr::from(parts))
}

fn is_local_v4(address: Ipv4Addr) -> bool {
    let [a, b, _, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        // "This network", the unspecified address among it.
        || a == 0
        // Carrier-grade; a cloud's metadata address 100.100.100.200 among it.
        || (a == 100 && (64..128).contains(&b))
        // Metadata addresses of two clouds that lie outside all these.
        || address == Ipv4Addr::new(192, 0, 0, 192)
        || address == Ipv4Addr::new(168, 63, 129, 16)
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    let [a, _, _, _, _, _, _, _] = address.segments();
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        // Unique-local; a cloud's metadata address fd00:ec2::254 among it.
        || a & 0xfe00 == 0xfc00
        // Link-local, and site-local of old.
        || a & 0xff80 == 0xfe80
        || is_local_translation(address)
        || embedded(address).into_iter().flatten().any(is_local_v4)
}

/// The prefix for translation within one's own network: what lies behind it is not for us to know.
fn is_local_translation(address: Ipv6Addr) -> bool {
    let [a, b, c, _, _, _, _, _] = address.segments();
    (a, b, c) == (0x64, 0xff9b, 1)
}

/// The IPv4 addresses that stand inside an IPv6 address.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 4] {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let last = Some(v4(g, h));
    // Mapped, translated and compatible addresses, and the well-known prefix of NAT64.
    let at_end = match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0) => last,
        _ => None,
    };
    let six_to_four = (a == 0x2002).then(|| v4(b, c));
    let teredo = ((a, b) == (0x2001, 0)).then(|| v4(!g, !h));
    let isatap = if e & 0xfdff == 0 && f == 0x5efe { last } else { None };
    [at_end, six_to_four, teredo, isatap]
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

fn is_inside(host: &str, domain: &str) -> bool {
    let domain = domain.trim();
    match (read(host), read(domain.strip_prefix('.').unwrap_or(domain))) {
        (Some(Host::Domain(host)), Some(Host::Domain(domain))) => is_below(&host, &domain),
        // An address has nothing below it.
        (Some(host), Some(domain)) => host == domain,
        _ => false,
    }
}

/// Whether the name is the domain or ends in its labels. Both are lower case and without a dot at the end.
fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
