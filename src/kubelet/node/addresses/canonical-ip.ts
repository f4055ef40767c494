/** The spelling of an address that Go prints: `10.0.0.1`, `2001:db8::1`; `undefined` for invalid text. */
export function canonicalIp(text: string): string | undefined {
  if (!text.includes(':')) return canonicalIpv4(text);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)?.[1];
  if (mapped !== undefined) return canonicalIpv4(mapped);
  const url = URL.parse(`http://[${text}]`);
  return url?.hostname.slice(1, -1);
}

export function ipFamilyOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

export function isUnspecified(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** Leading zeros are accepted: Kubernetes has always read them as decimal. */
function canonicalIpv4(text: string): string | undefined {
  const parts = text.split('.');
  const isQuad = parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
  return isQuad ? parts.map(Number).join('.') : undefined;
}
