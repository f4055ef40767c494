/** An error of a manifest with its location, which most messages contain already. */
export function manifestErrorText(location: string, message: string): string {
  return message.startsWith(location) ? message : `${location}: ${message}`;
}
