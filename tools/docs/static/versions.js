// Shows the list of versions in the sidebar. The list is a script in the folder above, because pages of file: can't read
// other files.
(() => {
  const root = document.documentElement.dataset.content_root ?? "./";
  const list = document.createElement("script");
  list.src = `${root}../versions.js`;
  list.onload = () => {
    const versions = window.tridentVersions ?? [];
    const current = document.querySelector(".sidebar-brand-text")?.textContent.trim().split(" ").pop();
    const place = document.querySelector(".sidebar-search-container");
    if (!place || versions.length === 0) return;
    const label = document.createElement("label");
    label.className = "trident-versions";
    label.textContent = "Version";
    const select = document.createElement("select");
    for (const version of versions) select.add(new Option(version, version, false, version === current));
    select.addEventListener("change", () => {
      location.href = `${root}../${select.value}/index.html`;
    });
    label.append(select);
    place.before(label);
  };
  document.head.append(list);
})();
