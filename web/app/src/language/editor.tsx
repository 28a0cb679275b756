import {closeBrackets, closeBracketsKeymap, completionKeymap} from '@codemirror/autocomplete';
import {defaultKeymap, history, historyKeymap} from '@codemirror/commands';
import {bracketMatching, HighlightStyle, syntaxHighlighting} from '@codemirror/language';
import {setDiagnostics} from '@codemirror/lint';
import {EditorState, Prec} from '@codemirror/state';
import {EditorView, keymap, placeholder} from '@codemirror/view';
import {tags} from '@lezer/highlight';
import {useEffect, useRef} from 'preact/hooks';
import type {Language} from './language.ts';

const colours = HighlightStyle.define([
  {tag: [tags.keyword, tags.function(tags.variableName), tags.operatorKeyword, tags.modifier], color: 'var(--code-keyword)'},
  {tag: [tags.string], color: 'var(--code-string)'},
  {tag: [tags.number, tags.bool], color: 'var(--code-number)'},
  {tag: [tags.labelName, tags.propertyName], color: 'var(--code-label)'},
  {tag: [tags.comment], color: 'var(--faint)'},
  {tag: tags.invalid, color: 'var(--bad)'},
]);

const nonce = document.querySelector<HTMLMetaElement>('meta[name=tsdbridge-style-nonce]')?.content ?? '';

interface Props {
  language: Language;
  value: string;
  label: string;
  error: string;
  /** hint is shown in an empty box in place of the language's own. */
  hint?: string;
  /** onRun is called for Enter, onLeave when the box is left. */
  onRun(text: string): void;
  onLeave(text: string): void;
}

/** Editor is a box for a query. Enter runs it, Shift+Enter begins a line, Tab leaves it. */
export function Editor(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const latest = useRef(p);
  latest.current = p;

  useEffect(() => {
    const run = () => {
      latest.current.onRun(view.current!.state.doc.toString());
      return true;
    };
    view.current = new EditorView({
      parent: box.current!,
      state: EditorState.create({
        doc: p.value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({'aria-label': p.label, 'aria-multiline': 'true'}),
          EditorView.lineWrapping,
          history(), bracketMatching(), closeBrackets(), syntaxHighlighting(colours), placeholder(p.hint ?? p.language.hint),
          p.language.editing(),
          keymap.of([...completionKeymap, ...closeBracketsKeymap]),
          Prec.high(keymap.of([{key: 'Mod-Enter', run}])),
          keymap.of([{key: 'Enter', run, shift: view => { view.dispatch(view.state.replaceSelection('\n')); return true; }}, ...historyKeymap, ...defaultKeymap]),
          EditorView.domEventHandlers({blur: () => { latest.current.onLeave(view.current!.state.doc.toString()); }}),
        ],
      }),
    });
    return () => view.current?.destroy();
  }, [p.language]);

  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== p.value) v.dispatch({changes: {from: 0, to: v.state.doc.length, insert: p.value}});
  }, [p.value]);

  useEffect(() => {
    const v = view.current;
    if (!v) return;
    const at = p.error === '' ? undefined : p.language.place(v.state.doc.toString(), p.error);
    v.dispatch(setDiagnostics(v.state, at ? [{...at, severity: 'error', message: p.error}] : []));
  }, [p.error, p.language]);

  return <div class="editor" ref={box} />;
}
