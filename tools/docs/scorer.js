// The order of search results: pages for contributors come last. The numbers are Sphinx's own.
var Scorer = {
  score: ([page, , , , score]) => (/^(adr|contributing)\//.test(page) ? score - 50 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
