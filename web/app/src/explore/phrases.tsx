import {languages, type LanguageID} from '../language/language.ts';
import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';

type Said = Record<LanguageID, {query?: string; why?: string}>;

/** Phrases offers the query in the other languages. A button that is off tells why. */
export function Phrases(p: {language: LanguageID; text: string; onUse(language: LanguageID, text: string): void}) {
  const request = useRequest(
    p.text === '' || p.text.includes('\n') ? undefined : signal => fetchData<Said>('api/v1/status/phrases', {language: p.language, query: p.text}, {signal}),
    [p.language, p.text],
  );
  const said = request.error === '' ? request.answer : undefined;
  if (!said || !languages.every(l => l.id === p.language || said[l.id])) return null;
  return (
    <span role="group" aria-label="The query in other languages" class="buttons">
      {languages.filter(l => l.id !== p.language).map(l => {
        const {query, why} = said[l.id];
        const title = query ?? `It cannot be said in ${l.title}: ${why ?? ''}`;
        return <button key={l.id} aria-disabled={query === undefined} title={title} onClick={() => { if (query !== undefined) p.onUse(l.id, query); }}>in {l.title}</button>;
      })}
    </span>
  );
}
