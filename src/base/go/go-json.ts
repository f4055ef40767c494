/**
 * Compact JSON as Go's encoder writes it: the characters that matter to HTML and JavaScript are escaped. Keys keep the
 * order of the object; `undefined` is left out.
 */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
