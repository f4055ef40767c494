/** The API server's messages for an invalid IP address in a manifest. */
export function ipAddressErrors(text: string): string[] {
  if (text.includes(':')) {
    const groups = parseIpv6(text);
    if (!groups) return [NOT_AN_ADDRESS];
    const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
    return isMapped ? ['must not be an IPv4-mapped IPv6 address'] : [];
  }
  if (!isDottedQuad(text)) return [NOT_AN_ADDRESS];
  return text.split('.').some((part) => /^0\d/.test(part)) ? ['must not have leading 0s'] : [];
}

const NOT_AN_ADDRESS = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

function isDottedQuad(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

/** The eight groups of an IPv6 address, or `undefined` for invalid text. */
function parseIpv6(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half) => (half === '' ? [] : groupsOf(half)));
  if (!head || (halves.length === 2 && !tail)) return undefined;
  const known = head.length + (tail?.length ?? 0);
  if (halves.length === 1) return known === 8 ? head : undefined;
  return known < 8 ? [...head, ...new Array<number>(8 - known).fill(0), ...(tail ?? [])] : undefined;
}

function groupsOf(text: string): number[] | undefined {
  const parts = text.split(':');
  const last = parts.at(-1) ?? '';
  const quad = last.includes('.') && isDottedQuad(last) ? last.split('.').map(Number) : undefined;
  const words = quad ? parts.slice(0, -1) : parts;
  if (!words.every((word) => /^[0-9a-fA-F]{1,4}$/.test(word))) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = quad ?? [];
  return [...words.map((word) => Number.parseInt(word, 16)), ...(quad ? [a * 256 + b, c * 256 + d] : [])];
}

/** The four or sixteen bytes of an address, or `undefined` for invalid text. An IPv4-mapped IPv6 address gives sixteen. */
export function ipBytes(text: string): readonly number[] | undefined {
  if (!text.includes(':')) {
    return isDottedQuad(text) && !/(^|\.)0\d/.test(text) ? text.split('.').map(Number) : undefined;
  }
  const bytes = parseIpv6(text)?.flatMap((group) => [group >> 8, group & 0xff]);
  const isMapped = bytes?.every((byte, index) => index >= 12 || byte === (index < 10 ? 0 : 0xff));
  return isMapped ? bytes?.slice(12) : bytes;
}
