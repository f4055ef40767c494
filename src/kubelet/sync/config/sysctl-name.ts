/** Converts `net/ipv4/tcp_rmem` to `net.ipv4.tcp_rmem`. The first separator decides which form a name has. */
export function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (char) => (char === '/' ? '.' : '/'));
}
