"""Builds the documentation's site: build.py VERSION TARGET.

TARGET gets a folder VERSION, a list of all its versions, and a page that opens the newest one. The pages are the Markdown
files in docs/, changed in a copy. README.md becomes the index of its folder. The links of an index become its navigation.
Links to files outside of docs/ become links to the repository. Warnings of Sphinx are errors. Links and anchors that don't
exist are among them.
"""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/trident-inference/trident"
# Pygments' names of the languages of code blocks. Other languages have no colours.
LEXERS = {language: language for language in ["bash", "diff", "dockerfile", "go", "ini", "js", "json", "nginx", "python", "sh", "toml", "ts", "yaml"]}
LEXERS |= {"jsonl": "json", "liquid": "html+django", "mjs": "js", "proto": "protobuf", "systemd": "ini"}
FENCE = re.compile(r"^( *)(`{3,})([^`\n]*)\n(.*?)^\1\2 *$", re.M | re.S)
LINK = re.compile(r"(\]\()([^()\s]+)(\))")


def renamed(path):
    """Returns the path of a page in the copy."""
    return path.with_name("index.md") if path.name == "README.md" else path


def target(page, link, version):
    """Returns the target of a link of a page in the copy."""
    if "://" in link or link.startswith(("#", "mailto:")):
        return link
    name, sep, anchor = link.partition("#")
    path = pathlib.Path(os.path.normpath(page.parent / name))
    if path.is_dir() and (path / "README.md").exists():
        path = path / "README.md"
    if not path.is_relative_to(DOCS) or path.is_dir():
        kind = "tree" if path.is_dir() else "blob"
        return f"{REPOSITORY}/{kind}/{branch(version)}/{path.relative_to(ROOT)}{sep}{anchor}"
    return os.path.relpath(renamed(path), page.parent) + sep + anchor


def branch(version):
    """Returns the tag of a release, and the main branch for other versions."""
    return f"v{version}" if re.fullmatch(r"\d+\.\d+\.\d+", version) else "main"


def converted(page, text, version):
    """Returns the text of a page for Sphinx. Code blocks keep their text, and drawings become elements of HTML."""
    parts, end = [], 0
    for found in FENCE.finditer(text):
        parts.append(LINK.sub(lambda m: m[1] + target(page, m[2], version) + m[3], text[end : found.start()]))
        indent, ticks, words, code = found.groups()
        language = words.split(maxsplit=1)[0] if words.split() else ""
        if language == "mermaid":
            parts.append(f'{indent}<pre class="mermaid">\n{html.escape(code)}{indent}</pre>')
        else:
            parts.append(f"{indent}{ticks}{LEXERS.get(language, 'text')}\n{code}{indent}{ticks}")
        end = found.end()
    parts.append(LINK.sub(lambda m: m[1] + target(page, m[2], version) + m[3], text[end:]))
    return "".join(parts)


def navigation(page, text):
    """Returns the hidden table of contents of an index: its links to pages of the folder and to indexes below."""
    names = []
    for _, link, _ in LINK.findall(FENCE.sub("", text)):
        path = pathlib.Path(os.path.normpath(page.parent / link.partition("#")[0]))
        below = path.parent == page.parent or path.name == "README.md" and path.parent.parent == page.parent
        if path.suffix == ".md" and below and path != page:
            name = str(renamed(path).relative_to(page.parent).with_suffix(""))
            if name not in names:
                names.append(name)
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def copy(into, version):
    """Writes the pages for Sphinx."""
    shutil.rmtree(into, ignore_errors=True)
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        changed = converted(page, text, version)
        if page.name == "README.md":
            changed += navigation(page, text)
        to = into / renamed(page).relative_to(DOCS)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(changed)
    for file in assets():
        to = into / file.relative_to(DOCS)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)


def assets():
    """Returns the files that pages link to or show."""
    return [file for file in sorted(DOCS.rglob("*")) if file.is_file() and file.suffix != ".md"]


def order(version):
    """Returns a key by which newer versions are greater. A build of a commit, such as 0.1.0-4f2a, is older than 0.1.0."""
    parts = [(int(part.isdigit()), int(part) if part.isdigit() else 0, part) for part in re.split(r"[.-]", version)]
    return [*parts, (2, 0, "")]


def list_versions(to):
    """Writes the list of versions, and the page that opens the newest."""
    versions = sorted((d.name for d in to.iterdir() if (d / "index.html").exists()), key=order, reverse=True)
    (to / "versions.js").write_text(f"window.tridentVersions = {json.dumps(versions)};\n")
    first = html.escape(versions[0])
    (to / "index.html").write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Trident</title>'
        f'<meta http-equiv="refresh" content="0; url={first}/index.html"></head>'
        f'<body><a href="{first}/index.html">Trident {first}</a></body></html>\n'
    )


def main(version, to):
    source, to = ROOT / ".cache" / "docs" / "pages", pathlib.Path(to).resolve()
    copy(source, version)
    site = to / version
    shutil.rmtree(site, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going", "--quiet", "--jobs", "auto"]
    command += ["--conf-dir", pathlib.Path(__file__).parent, "--doctree-dir", ROOT / ".cache" / "docs" / "trees", source, site]
    code = subprocess.call([*map(str, command)], env=os.environ | {"DOCS_VERSION": version})
    if code:
        sys.exit(code)
    for file in assets():
        shutil.copy(file, site / file.relative_to(DOCS))
    mermaid = pathlib.Path(__file__).parent / "node_modules" / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js"
    shutil.copy(mermaid, site / "_static" / "mermaid.js")
    list_versions(to)
    pages = sum(1 for _ in site.rglob("*.html"))
    print(f"{pages} pages: file://{site}/index.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
