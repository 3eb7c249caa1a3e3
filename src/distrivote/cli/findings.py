"""What `distrivote doctor` checks: the voting core, the engines, the extras, what other packages add.

Packages are looked up by their metadata and not imported, apart from llama.cpp's library, which is small,
torch, which is needed to detect a GPU, and packages with entry points of distrivote.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from distrivote.cli.words import worded
from distrivote.errors import DistrivoteError, InputError, MissingPackageError, install_command

if TYPE_CHECKING:
    from distrivote.engines.openai.extras import Extras


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    kind: str
    """`core`, `engine`, `server`, `extra` or `plugin`."""

    name: str
    state: str
    """`works`, `missing` (not installed) or `fails`."""

    detail: str = ""
    fix: str | None = None
    """The command or the instruction that fixes it."""


def version_of(package: str) -> str | None:
    """Return an installed package's version, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def place() -> dict[str, str | int]:
    """Return the versions and the platform."""
    return {
        "distrivote": version_of("distrivote") or "not installed, run from its folder",
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "n_processors": os.cpu_count() or 1,
    }


def core_finding() -> Finding:
    """Check that a known vote has the expected result."""
    try:
        from distrivote.voting.vote import vote

        right, wrong = [10.0 + i / 10 for i in range(8)], [5.0 + i / 10 for i in range(12)]
        tally = vote(["12"] * 8 + ["35"] * 12, right + wrong)
        found = (tally.answer, tally.majority)
    except Exception as error:  # any exception is a finding to report
        return Finding("core", "voting", "fails", f"{type(error).__name__}: {error}", _REINSTALL)
    if found != ("12", "35"):
        return Finding("core", "voting", "fails", f"a known vote came out as {found}", _REINSTALL)
    return Finding("core", "voting", "works", f"NumPy {version_of('numpy')}, pyarrow {version_of('pyarrow')}")


_REINSTALL = "pip install --force-reinstall . in the project's folder"


def engine_findings(model: str | None = None) -> list[Finding]:
    """Check which engines can be used, and the GGUF model if one is named."""
    return [_embedded(model), _openai(), _with_torch("vllm"), _with_torch("transformers")]


def _embedded(model: str | None) -> Finding:
    from distrivote.engines.llamacpp.files import BUILT_IN, cache_folder, model_file
    from distrivote.engines.llamacpp.library import load_library

    try:
        library = load_library().origin
    except MissingPackageError:
        return Finding("engine", "embedded", "missing", "no llama.cpp", install_command("embedded"))
    except DistrivoteError as error:
        return Finding("engine", "embedded", "fails", worded(error), install_command("embedded"))
    except OSError as error:
        return Finding("engine", "embedded", "fails", str(error), install_command("embedded"))
    if model is None or model == BUILT_IN:
        there = any((cache_folder() / "models").glob(f"{BUILT_IN}*.gguf"))
        known = f"{BUILT_IN} is there" if there else f"{BUILT_IN} is fetched at first use (93 MB)"
    elif model.startswith("hf:"):
        known = f"{model} is fetched at first use"
    else:
        try:
            known = f"{model_file(model)} is there"
        except DistrivoteError as error:
            return Finding("engine", "embedded", "fails", worded(error), "give --model path.gguf")
    return Finding("engine", "embedded", "works", f"{library}, {known}")


def _openai() -> Finding:
    if (version := version_of("aiohttp")) is None:
        return Finding("engine", "openai", "missing", "no aiohttp", "pip install aiohttp")
    return Finding("engine", "openai", "works", f"aiohttp {version}; --base-url URL asks a server")


def _with_torch(engine: str) -> Finding:
    version, torch_version = version_of(engine), version_of("torch")
    if version is None or torch_version is None:
        absent = engine if version is None else "torch"
        return Finding("engine", engine, "missing", f"no {absent}", install_command(engine))
    return Finding("engine", engine, "works", f"{engine} {version}, torch {torch_version}, {_gpu()}")


def _gpu() -> str:
    try:
        import torch

        if torch.cuda.is_available():
            return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}"
        return "Apple's GPU" if torch.backends.mps.is_available() else "no GPU seen"
    except Exception as error:  # a broken build may raise anything
        return f"torch does not load ({type(error).__name__})"


def server_findings(
    urls: Sequence[str], model: str | None, api_key: str | None, extras: Extras | None = None
) -> list[Finding]:
    """Check each server with a few requests."""
    from distrivote.confidence.tokens import DEFAULT_K
    from distrivote.engines.openai.checkup import check_server
    from distrivote.engines.openai.roster import Roster

    found = []
    for address in Roster(urls).addresses():
        seen = check_server(address.base, model, api_key, extras)
        if seen.failure is not None:
            found.append(Finding("server", seen.url, "fails", worded(seen.failure), "see docs/openai.md"))
            continue
        where = (
            "" if seen.streams else " (in whole replies only)" if seen.n_logprobs else " (does not stream)"
        )
        detail = f"{seen.model}, {seen.n_logprobs} of {DEFAULT_K} log-probabilities{where}, SelfStepConf " + (
            f"by {'its plugin' if seen.ssc_by == 'plugin' else 'continuation'}" if seen.ssc_by else "off"
        )
        if seen.plugin_in is not None:
            detail += f" (its plugin in {seen.plugin_in} probes: some replicas lack it)"
        if seen.left_out:
            detail += f", refuses {', '.join(seen.left_out)}"
        fix = None if seen.n_logprobs else "majority voting, or --signal stated"
        found.append(Finding("server", seen.url, "works", detail, fix))
    return found


def extra_findings() -> list[Finding]:
    """Check which extras have all their packages, by the metadata of the installed distrivote."""
    from packaging.requirements import Requirement

    try:
        facts = metadata.metadata("distrivote")
    except metadata.PackageNotFoundError:
        return []
    optional = [
        each
        for each in map(Requirement, facts.get_all("Requires-Dist") or [])
        if each.marker is not None and not each.marker.evaluate({"extra": ""})
        if each.name != "distrivote"  # `all` names the others
    ]
    extras = {
        name: [
            (each.name, str(each.specifier))
            for each in optional
            if each.marker is not None and each.marker.evaluate({"extra": name})
        ]
        for name in sorted(facts.get_all("Provides-Extra") or [])
    }
    return [_extra(name, packages) for name, packages in extras.items() if packages]


def plugin_findings() -> list[Finding]:
    """Check that the names which installed packages add can be loaded."""
    from distrivote.names import ROLES, found, installed

    findings = []
    for role in ROLES:
        for name in installed(role):
            try:
                own = found(role, name)
            except InputError as error:
                findings.append(Finding("plugin", name, "fails", worded(error.message), error.hint))
            else:
                origin = "" if own is None else own.origin
                findings.append(Finding("plugin", name, "works", f"{role.noun} of {origin}"))
    return findings


def _extra(extra: str, packages: Sequence[tuple[str, str]]) -> Finding:
    versions = {name: version_of(name) for name, _ in packages}
    detail = ", ".join(f"{name} {version}" for name, version in versions.items())
    absent = [name for name, version in versions.items() if version is None]
    if absent:
        return Finding("extra", extra, "missing", f"no {', '.join(absent)}", install_command(extra))
    old = [f"{name} {bound}" for name, bound in packages if not fits(versions[name] or "", bound)]
    if old:
        detail = f"{detail}; needs {', '.join(old)}"
        return Finding("extra", extra, "fails", detail, install_command(extra, "-U "))
    return Finding("extra", extra, "works", detail)


def fits(version: str, specifier: str) -> bool:
    """Return whether a requirement allows a version; an invalid version satisfies only "".

    >>> fits("2.10.1", ">=2.9"), fits("5.0rc1", ">=5"), fits("1.0", "==1.1"), fits("4.2", "")
    (True, False, False, True)
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(specifier).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return not specifier
