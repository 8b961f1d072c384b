//! The list of components as a file of CycloneDX 1.5.

use crate::components::Component;
use crate::release::Release;
use crate::target::Target;
use crate::{Package, Result};
use serde_json::{Value, json};

/// Makes the file.
///
/// # Errors
/// Returns a message if the value cannot be written.
pub fn package(release: &Release, target: &Target, components: &[Component]) -> Result<Package> {
    let grus = format!("grus@{}", release.version);
    let purl = |id: &str| format!("pkg:cargo/{id}");
    let uses = |of: &Component| of.uses.iter().map(|id| purl(id)).collect::<Vec<_>>();
    let component = |c: &Component| {
        json!({
            "type": "library",
            "bom-ref": purl(&c.id()),
            "name": c.name,
            "version": c.version,
            "licenses": [{ "expression": c.licence }],
            "purl": purl(&c.id()),
            "hashes": [{ "alg": "SHA-256", "content": c.checksum }],
        })
    };
    let mut dependencies = vec![json!({
        "ref": grus,
        "dependsOn": components.iter().map(|c| purl(&c.id())).collect::<Vec<_>>(),
    })];
    dependencies.extend(components.iter().map(|c| json!({ "ref": purl(&c.id()), "dependsOn": uses(c) })));
    let json: Value = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": release.time,
            "component": {
                "type": "library",
                "bom-ref": grus,
                "name": "grus",
                "version": release.version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                "properties": [
                    { "name": "commit", "value": release.commit },
                    { "name": "target", "value": target.rust },
                ],
            },
        },
        "components": components.iter().map(component).collect::<Vec<_>>(),
        "dependencies": dependencies,
    });
    let name = format!("grus-{}-{}.cdx.json", release.version, target.platform);
    Ok(Package { name, bytes: format!("{json:#}\n").into_bytes() })
}
