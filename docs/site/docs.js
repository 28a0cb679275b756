// The search of the handbook: an index of all sections, fetched when the box is first used. A question in a reader's own
// words finds something: words that tell nothing do not count, and sections that lack a word come last. The theme is the page's.
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
  index ??= fetch('search.json').then((answer) => answer.json()).then((entries) => entries.map(prepare));
  return index;
}

// small are words that tell nothing. same are words of readers, and what the handbook calls it.
const small = new Set(('a about after all an and any are as at be before between by can could do does for from get happen happens has have how i if in into is it its '
  + 'just long make many me much my need not of on one or our should so than that the their them then there they this to too '
  + 'tsdbridge use used using want was we what when where which who why will with without you your').split(' '));
const same = {
  auth: 'password', authentication: 'password', login: 'password', user: 'password', ssl: 'tls', https: 'tls', certificate: 'tls',
  k8s: 'kubernetes', helm: 'kubernetes', docker: 'container', remove: 'delete', erase: 'delete', purge: 'delete', drop: 'delete',
  expire: 'retention', ttl: 'retention', keep: 'retention', kept: 'retention', rollback: 'going', downgrade: 'going',
  cardinality: 'series', oom: 'memory', ram: 'memory', restore: 'backup', snapshot: 'backup', downsample: 'rollup',
  downsampling: 'rollup', availability: 'ha', redundancy: 'ha', replica: 'ha', slow: 'explain', latency: 'slow', corrupt: 'damage',
  broken: 'damage', lost: 'lose', loss: 'lose', move: 'migrating', migration: 'migrating', migrate: 'migrating', install: 'installing',
  alerting: 'alert', space: 'disk', down: 'away', offline: 'away', unavailable: 'away', outage: 'away', secure: 'password',
  annotation: 'event', statsd: 'carbon', collectd: 'carbon', telegraf: 'carbon',
};

// stem cuts the ends of long words, so that "deleting" finds "delete". Names with dots and dashes stay.
function stem(word) {
  if (word.length < 5 || /[^a-z]/.test(word)) return word;
  const cut = word.replace(/(ations?|ating|ings?|ies|ed|es|s|e|y)$/, '');
  return cut.length < 4 ? word : cut;
}

// pattern matches a word at its begin; a short one must be whole.
function pattern(word) {
  const text = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![a-z0-9])${text}${word.length < 4 ? 's?(?![a-z0-9])' : ''}`);
}

function prepare(entry) {
  return { ...entry, title: entry.t.toLowerCase(), head: (entry.h ?? entry.t).toLowerCase(), text: entry.x.toLowerCase() };
}

// terms are the words of a question that tell something, each with the patterns of its forms.
function terms(question) {
  const words = question.toLowerCase().split(/[\s,;?!"'()]+/).filter(Boolean);
  const telling = words.filter((word) => !small.has(word));
  return (telling.length > 0 ? telling : words).map((word) => {
    const other = same[word] ?? same[word.replace(/s$/, '')];
    return { own: pattern(other ? word : stem(word)), other: other && pattern(stem(other)) };
  });
}

// hit is how well a section fits a term: words in headings count more than words in the text, a reader's own word more
// than ours, and a word in a long list less.
function hit(entry, term) {
  for (const [form, weight] of [[term.own, 1], [term.other, 0.8]]) {
    if (!form) continue;
    if (form.test(entry.head)) return 6 * weight;
    if (form.test(entry.title)) return 4 * weight;
    const at = entry.text.search(form);
    if (at >= 0) return weight * (entry.text.length > 6000 ? 0.7 : at < 300 ? 2 : 1.5);
  }
  return 0;
}

// share is what a section counts for its kind: the table of contents only refers to others, and long lists, which have every word,
// are for those who know the name of a flag, a metric or a function.
function share(path) {
  if (path.startsWith('index.html')) return 0.5;
  return /^(flags|metrics|functions|api)\.html/.test(path) ? 0.7 : 1;
}

// rank returns the best sections for a question. Rare words count more. Sections that lack a word come after those that
// have all.
function rank(entries, question) {
  const asked = terms(question);
  const hits = entries.map((entry) => asked.map((term) => hit(entry, term)));
  const rare = asked.map((_, i) => Math.log(1 + entries.length / (1 + hits.filter((h) => h[i] > 0).length)));
  const best = entries.map((entry, k) => {
    const have = hits[k].filter((h) => h > 0).length / asked.length;
    return { entry, score: have * have * share(entry.p) * hits[k].reduce((sum, h, i) => sum + h * rare[i], 0) };
  });
  return best.filter((e) => e.score > 0).sort((x, y) => y.score - x.score).slice(0, 12).map((e) => e.entry);
}

// excerpt shows the text around the first word that is there.
function excerpt(entry, asked) {
  const p = document.createElement('span');
  p.className = 'dim';
  let found = null;
  for (const form of asked.flatMap((term) => [term.own, term.other])) found ??= form ? form.exec(entry.text) : null;
  const at = found?.index ?? 0;
  const begin = Math.max(0, at - 60);
  p.append(begin > 0 ? '… ' : '', entry.x.slice(begin, at));
  const mark = document.createElement('mark');
  mark.textContent = /^[\p{L}\p{N}_]*/u.exec(entry.x.slice(at))[0];
  if (found) p.append(mark);
  p.append(entry.x.slice(at + (found ? mark.textContent.length : 0), at + 160));
  return p;
}

async function search() {
  const question = box.value.trim();
  found.hidden = question === '';
  if (question === '') return;
  const best = rank(await load(), question);
  if (box.value.trim() !== question) return;
  found.replaceChildren(...best.map((entry) => {
    const p = document.createElement('p');
    const a = document.createElement('a');
    a.href = entry.p;
    a.textContent = entry.h ? `${entry.t}: ${entry.h}` : entry.t;
    a.addEventListener('click', () => { found.hidden = true; });
    p.append(a, document.createElement('br'), excerpt(entry, terms(question)));
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
