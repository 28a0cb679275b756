// Colours of series: the first twelve are easy to tell apart on light and dark ground, the others follow by hue.

const first = [
  '#3b82c4', '#e07b39', '#3fa45b', '#c9453f', '#8b67c9', '#a3763c',
  '#d765a8', '#7f8a93', '#a9a72d', '#2ba7b8', '#5f6fd8', '#6d9b2f',
];

/** colourOf returns the colour of the series at an index. */
export function colourOf(index: number): string {
  return first[index] ?? `hsl(${Math.round((index * 137.508) % 360)} 55% 52%)`;
}
