"""Tests of build.py: what becomes of a page before Sphinx reads it."""

import pathlib
import tempfile
import unittest

import build


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        self.before = build.ROOT, build.DOCS
        build.ROOT, build.DOCS = root, root / "docs"
        for page in ["docs/README.md", "docs/a.md", "docs/guides/README.md", "docs/guides/b.md", "docs/guides/deep/README.md", "api/x.proto", "CHANGELOG.md"]:
            (root / page).parent.mkdir(parents=True, exist_ok=True)
            (root / page).write_text("# Page\n")

    def tearDown(self):
        build.ROOT, build.DOCS = self.before

    def converted(self, text, version="1.2.3"):
        return build.converted(build.DOCS / "guides" / "b.md", text, version)

    def test_links(self):
        for link, want in [
            ("README.md", "index.md"),
            ("../README.md#start", "../index.md#start"),
            ("../a.md", "../a.md"),
            ("deep/", "deep/index.md"),
            ("#here", "#here"),
            ("https://example.com/README.md", "https://example.com/README.md"),
            ("../../api/x.proto", build.REPOSITORY + "/blob/v1.2.3/api/x.proto"),
            ("../../CHANGELOG.md#one", build.REPOSITORY + "/blob/v1.2.3/CHANGELOG.md#one"),
            ("../../api", build.REPOSITORY + "/tree/v1.2.3/api"),
        ]:
            self.assertEqual(self.converted(f"[a]({link}), b"), f"[a]({want}), b")
        self.assertIn("/blob/main/", self.converted("[a](../../CHANGELOG.md)", "1.2.3-abc-dirty"))

    def test_code(self):
        self.assertEqual(
            self.converted("```sh run\n[a](README.md)\n```\n\n1. A\n\n   ```pbtxt check\n   a\n   ```\n"),
            "```sh\n[a](README.md)\n```\n\n1. A\n\n   ```text\n   a\n   ```\n",
        )
        self.assertEqual(self.converted("```mermaid\na --> b\n```"), '<pre class="mermaid">\na --&gt; b\n</pre>')

    def test_navigation(self):
        text = "[a](a.md), [a again](a.md#b), [g](guides/README.md), [b](guides/b.md), [c](../CHANGELOG.md), [d](https://example.com/d.md)\n\n```sh\n[e](e.md)\n```\n"
        self.assertEqual(build.navigation(build.DOCS / "README.md", text), "\n```{toctree}\n:hidden:\n\na\nguides/index\n```\n")

    def test_versions(self):
        to = build.ROOT / "site"
        for version in ["0.9.0", "0.10.0", "0.10.0-4f2a-dirty"]:
            (to / version).mkdir(parents=True)
            (to / version / "index.html").write_text("")
        (to / "other").mkdir()
        build.list_versions(to)
        self.assertEqual((to / "versions.js").read_text(), 'window.tridentVersions = ["0.10.0", "0.10.0-4f2a-dirty", "0.9.0"];\n')
        self.assertIn("url=0.10.0/index.html", (to / "index.html").read_text())

    def test_copy(self):
        (build.DOCS / "chart.svg").write_text("<svg/>")
        (build.DOCS / "README.md").write_text("# Home\n\n[a](a.md)\n")
        into = build.ROOT / "copy"
        build.copy(into, "1.2.3")
        self.assertEqual((into / "index.md").read_text(), "# Home\n\n[a](a.md)\n\n```{toctree}\n:hidden:\n\na\n```\n")
        self.assertEqual((into / "chart.svg").read_text(), "<svg/>")
        self.assertTrue((into / "guides" / "deep" / "index.md").exists())


if __name__ == "__main__":
    unittest.main()
