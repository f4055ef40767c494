/** Several errors as Go prints them together: each text once, in brackets unless it is alone. */
export function goErrorList(texts: readonly string[]): string {
  const each = [...new Set(texts)];
  return each.length === 1 ? each.join('') : `[${each.join(', ')}]`;
}
