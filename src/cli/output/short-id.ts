/** An id or a digest as Docker and crictl print it. */
export function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, 12);
}
