/** targetOf returns the target of a path: that of a name with tags, or with characters of the language, is a search. */
export function targetOf(path: string): string {
  const [name = '', ...tags] = path.split(';');
  if (tags.length === 0 && !/[\s(),'"{}[\]*?\\]/.test(name)) return path;
  return `seriesByTag(${[`name=${name}`, ...tags].map(t => `'${t.replace(/['\\]/g, '\\$&')}'`).join(', ')})`;
}
