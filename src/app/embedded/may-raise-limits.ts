/** linux/capability.h */
const CAP_SYS_RESOURCE = 24n;

/** `status` is the text of /proc/self/status. Text that says nothing about capabilities has none. */
export function mayRaiseLimits(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}
