"""The OpenAPI document as a page without scripts and without resources from other servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
:root { color-scheme: light dark; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8884; border-radius: 6px; }
h2 { margin-top: 2.5rem; border-top: 1px solid #8884; padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; }
"""
"""Served as docs.css: the content security policy forbids inline styles."""


def reference_page(document: Mapping[str, Any]) -> str:
    """Return the page: every path with the fields of its request and its replies."""
    info = document["info"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>{escape(info['title'])}</title><link rel=stylesheet href='docs.css'>",
        f"<h1>{escape(info['title'])}</h1><p>{escape(info.get('description', ''))}</p>",
        "<p>The same for programs: <a href='openapi.json'>openapi.json</a></p>",
    ]
    schemas = document.get("components", {}).get("schemas", {})
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2>")
            parts.append(f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p>")
            parts += _body(operation, schemas)
            parts.append("<p>Replies: " + ", ".join(map(_reply, operation["responses"].items())) + "</p>")
    return "\n".join(parts)


def _reply(item: tuple[str, Mapping[str, Any]]) -> str:
    status, reply = item
    return f"<code>{escape(status)}</code> {escape(reply.get('description', ''))}"


def _body(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[str]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return [] if body is None else _fields(body, schemas, "")


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any], prefix: str) -> list[str]:
    """Return the fields of an object as a table, followed by the tables of nested objects."""
    schema = schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    rows, below = [], []
    for name, field in schema.get("properties", {}).items():
        kinds = field.get("anyOf", [field])
        shown = ", ".join(_kind(kind) for kind in kinds if kind.get("type") != "null") or "null"
        needed = " (needed)" if name in schema.get("required", ()) else ""
        words = escape(field.get("description", ""))
        rows.append(f"<tr><td><code>{escape(prefix + name)}</code>{needed}<td>{shown}<td>{words}")
        for kind in kinds:
            if "$ref" in kind:
                below += _fields(kind, schemas, f"{prefix}{name}.")
    return ["<table><tr><th>field<th>type<th>", *rows, "</table>", *below] if rows else below


def _kind(kind: Mapping[str, Any]) -> str:
    if "$ref" in kind:
        return "object"
    if "enum" in kind or "const" in kind:
        return escape(" or ".join(json.dumps(value) for value in kind.get("enum", [kind.get("const")])))
    if kind.get("type") == "array":
        return "array"
    return escape(str(kind.get("type", "any")))
