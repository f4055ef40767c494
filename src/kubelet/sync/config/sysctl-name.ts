/** `net/ipv4/tcp_rmem` is `net.ipv4.tcp_rmem`; whichever of the two signs comes first separates. */
export function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (char) => (char === '/' ? '.' : '/'));
}
