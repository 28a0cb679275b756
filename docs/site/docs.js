// The search of the handbook: an index of all sections, fetched when the box is first used. The theme is the page's.
'use strict';
try {
  const theme = localStorage.getItem('tsdbridge.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* no storage: the system's theme */ }

if (matchMedia('(max-width: 48rem)').matches) document.querySelector('nav details').open = false;

const form = document.querySelector('form[role=search]');
const box = form.querySelector('input');
const found = document.getElementById('found');
form.hidden = false;
form.addEventListener('submit', (event) => event.preventDefault());
let index;

function load() {
  index ??= fetch('search.json').then((answer) => answer.json()).then((entries) =>
    entries.map((e) => ({ ...e, low: `${e.t} ${e.h ?? ''} ${e.x}`.toLowerCase() })));
  return index;
}

// score is how well a section fits: words in headings count more than words in the text. 0: a word is missing.
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    if (!entry.low.includes(word)) return 0;
    const head = (entry.h ?? entry.t).toLowerCase();
    sum += head.includes(word) ? 10 : entry.t.toLowerCase().includes(word) ? 4 : 1;
  }
  return sum;
}

function excerpt(entry, word) {
  const at = Math.max(0, entry.x.toLowerCase().indexOf(word));
  const begin = Math.max(0, at - 60);
  const p = document.createElement('span');
  p.className = 'dim';
  p.append(begin > 0 ? '… ' : '', entry.x.slice(begin, at));
  const mark = document.createElement('mark');
  mark.textContent = entry.x.slice(at, at + word.length);
  p.append(mark, entry.x.slice(at + word.length, at + 140));
  return p;
}

async function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = words.length === 0;
  if (words.length === 0) return;
  const entries = await load();
  const best = entries.map((entry) => ({ entry, score: score(entry, words) })).filter((e) => e.score > 0)
    .sort((a, b) => b.score - a.score).slice(0, 12);
  found.replaceChildren(...best.map(({ entry }) => {
    const p = document.createElement('p');
    const a = document.createElement('a');
    a.href = entry.p;
    a.textContent = entry.h ? `${entry.t}: ${entry.h}` : entry.t;
    a.addEventListener('click', () => { found.hidden = true; });
    p.append(a, document.createElement('br'), excerpt(entry, words[0]));
    return p;
  }));
  if (best.length === 0) found.textContent = 'Nothing was found.';
}

box.addEventListener('focus', load, { once: true });
box.addEventListener('input', search);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== box) { event.preventDefault(); box.focus(); }
  if (event.key === 'Escape') { box.value = ''; found.hidden = true; }
});
