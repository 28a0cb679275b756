import type {LanguageID} from '../language/language.ts';
import {formatRoute, go} from '../lib/route.ts';
import {formatState, newPanel} from './state.ts';

function stateOf(language: LanguageID, text: string): URLSearchParams {
  return formatState({range: {from: 'now-6h', to: 'now'}, utc: false, refresh: 0, panels: [newPanel(language, text)]});
}

/** explore shows a query in Explore. */
export function explore(language: LanguageID, text: string): void {
  go('explore', stateOf(language, text));
}

/** exploreLink returns the link to a query in Explore. */
export function exploreLink(language: LanguageID, text: string): string {
  return formatRoute('explore', stateOf(language, text));
}
