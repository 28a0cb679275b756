// Reads answers beside the page, which stays at hand meanwhile. An answer goes back in parts: each is taken in quickly.

import {readAnswer, type Asked} from './answer.ts';
import type {Part} from './reader.ts';

/** points is about how many values a part has. */
const points = 40_000;

addEventListener('message', (e: MessageEvent<{id: number; asked: Asked; answer: Blob}>) => {
  const {id, asked, answer} = e.data;
  const send = (part: Part) => postMessage(part, {transfer: 'series' in part ? part.series.map(s => s.values.buffer) : []});
  answer.text().then(text => {
    const {series, notes} = readAnswer(asked, text);
    for (let from = 0; from < series.length;) {
      let to = from;
      for (let n = 0; to < series.length && n < points; to++) n += series[to]!.values.length;
      send({id, series: series.slice(from, to)});
      from = to;
    }
    send({id, notes});
  }).catch((error: unknown) => send({id, error: String(error)}));
});
