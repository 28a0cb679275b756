/** isWarning tells whether a line of `/-/ready?verbose` is about something that an operator should look at. */
export function isWarning(line: string): boolean {
  return ['writes refused:', 'damaged:', 'web configuration ignored'].some(start => line.startsWith(start));
}
