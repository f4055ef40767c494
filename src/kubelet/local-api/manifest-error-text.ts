/** A problem of a manifest with the place that it is about, which most messages name themselves. */
export function manifestErrorText(location: string, message: string): string {
  return message.startsWith(location) ? message : `${location}: ${message}`;
}
