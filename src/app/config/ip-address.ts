/** The family of an IP address as Kubernetes reads it (leading zeros in IPv4 are fine); `undefined` for other text. */
export function ipFamily(text: string): 4 | 6 | undefined {
  if (isIpv4(text)) return 4;
  return isIpv6(text) ? 6 : undefined;
}

/** `0.0.0.0` or `::`, however they are written. */
export function isUnspecifiedIp(text: string): boolean {
  return ipFamily(text) !== undefined && /^[0.:]+$/.test(text);
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^[0-9]+$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const lengths = halves.map((half, index) => groupsOf(half, index === halves.length - 1));
  if (lengths.includes(undefined)) return false;
  const groups = lengths.reduce<number>((sum, length) => sum + (length ?? 0), 0);
  return halves.length === 2 ? groups <= 7 : groups === 8;
}

/** How many 16-bit groups it stands for; an IPv4 address at the very end counts as two. */
function groupsOf(half: string, isLast: boolean): number | undefined {
  if (half === '') return 0;
  const parts = half.split(':');
  const last = parts.at(-1) ?? '';
  const endsInIpv4 = isLast && isIpv4(last);
  const hex = endsInIpv4 ? parts.slice(0, -1) : parts;
  if (!hex.every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return undefined;
  return hex.length + (endsInIpv4 ? 2 : 0);
}
