// Characters that are not seen, or that turn the direction of a text, can make a name look like another one.

const hidden = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** visible writes such characters as \\u202e. */
export function visible(text: string): string {
  return text.replace(hidden, c => (c === '\n' ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`));
}
